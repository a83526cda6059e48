"""The client's side of the Language Server Protocol, over the standard streams of a process.

Messages are plain dicts: the libraries that model the whole protocol refuse what some servers say.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard.wording import on_one_line

if TYPE_CHECKING:
    from pegboard_processes import OpenProcess

MOST_MESSAGE = 64 * 1024 * 1024
MOST_HEADER = 8_192
UNKNOWN_METHOD = -32601
TRY_AGAIN = (-32801, -32802)
"""The content was modified, or the server cancelled the request: the same request may work now."""


class ServerGoneError(Exception):
    """The server has ended, or speaks something else than the protocol."""


class RefusedError(Exception):
    """The server answered a request with an error."""

    def __init__(self, error: Any) -> None:
        said = error if isinstance(error, dict) else {}
        self.code = said.get("code")
        super().__init__(on_one_line(str(said.get("message", error))[:1_000]))


class Client:
    """One conversation with a server. `notice` gets each notification, `answer` each request that the server makes."""

    def __init__(
        self, process: OpenProcess, notice: Callable[[str, Any], None], answer: Callable[[str, Any], Any]
    ) -> None:
        self._process, self._notice, self._answer = process, notice, answer
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        self._gone = ""
        self._replies: set[asyncio.Task[None]] = set()

    async def request(self, method: str, params: Any = None, seconds: float | None = None) -> Any:
        """Ask and wait for the answer; `TimeoutError` after so many seconds, and then the server is told to stop."""
        self._last += 1
        number = self._last
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(seconds):
                await self._send({"id": number, "method": method, **_given(params)})
                return await future
        except (TimeoutError, asyncio.CancelledError):
            self._later({"method": "$/cancelRequest", "params": {"id": number}})
            raise
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something that has no answer."""
        await self._send({"method": method, **_given(params)})

    async def listen(self) -> str:
        """Take what the server says until it ends; returns why nothing more can come."""
        try:
            while True:
                message = await self._receive()
                self._take(message)
        except ToolError as error:
            self._gone = error.message
        except ValueError as error:
            self._gone = f"It does not speak the Language Server Protocol: {error}."
        finally:
            self._gone = self._gone or "It was stopped."
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ServerGoneError(self._gone))
        return self._gone

    async def _receive(self) -> dict[str, Any]:
        header = await self._process.receive_until(b"\r\n\r\n", MOST_HEADER)
        length = next((line[15:] for line in header.split(b"\r\n") if line[:15].lower() == b"content-length:"), b"")
        if not length.strip().isdigit():
            raise ValueError(f"a message has no length, but begins with {header[:80]!r}")
        if int(length) > MOST_MESSAGE:
            raise ValueError(f"a message has {int(length)} bytes, and the limit is {MOST_MESSAGE}")
        try:
            message = json.loads(await self._process.receive_exactly(int(length)))
        except RecursionError:
            raise ValueError("a message is nested too deeply") from None
        if not isinstance(message, dict):
            raise ValueError("a message is not an object")
        return message

    def _take(self, message: dict[str, Any]) -> None:
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str) and number is None:
            self._notice(method, message.get("params"))
        elif isinstance(method, str):
            self._reply(number, method, message.get("params"))
        elif isinstance(number, int) and (future := self._waiting.get(number)) and not future.done():
            if "error" in message:
                future.set_exception(RefusedError(message["error"]))
            else:
                future.set_result(message.get("result"))

    def _reply(self, number: Any, method: str, params: Any) -> None:
        try:
            self._later({"id": number, "result": self._answer(method, params)})
        except LookupError:
            self._later({"id": number, "error": {"code": UNKNOWN_METHOD, "message": f"No method {method}."}})

    def _later(self, message: dict[str, Any]) -> None:
        """Send without waiting: a server that does not read must not keep us from reading."""
        task = asyncio.get_running_loop().create_task(self._try(message))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _try(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except ServerGoneError:
            return  # Whoever waits for the server learns it from `listen`.

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone:
            raise ServerGoneError(self._gone)
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True).encode()
        try:
            # Shielded: half a message would make everything after it unreadable.
            await asyncio.shield(self._process.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body)))
        except ToolError as error:
            raise ServerGoneError(self._gone or error.message) from None


def _given(params: Any) -> dict[str, Any]:
    """Nothing at all for a method without parameters: TypeScript's server refuses a null."""
    return {} if params is None else {"params": params}
