"""One life of a server: from its start to its end, with what it has said meanwhile."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import ProcessSpec, ToolError
from pegboard_lsp.addresses import path_of, uri_of
from pegboard_lsp.capabilities import CLIENT
from pegboard_lsp.choice import Chosen
from pegboard_lsp.client import TRY_AGAIN, Client, RefusedError, ServerGoneError
from pegboard_lsp.documents import Documents

if TYPE_CHECKING:
    from pegboard_processes import OpenProcess, Processes

MOST_STDERR = 10**15
"""Standard error is read and forgotten but for its end, so it may be as long as it likes."""
MOST_PROBLEMS = 10_000
TRIES = 5
GRACE = 0.5
"""Seconds that a server has to end once it has said goodbye: some first finish an index that is of no use then."""


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds."""

    start: float
    request: float
    idle: float


@dataclass(frozen=True)
class Pushed:
    """The diagnostics of a file that a server sent unasked."""

    items: list[Any]
    version: int | None
    at: float


class RunningServer:
    """A server that was started. It is used and ended in the event loop of the hub."""

    def __init__(self, chosen: Chosen, limits: Limits) -> None:
        self.chosen, self.limits = chosen, limits
        self.capabilities: dict[str, Any] = {}
        self.registered: set[str] = set()
        self.pushed: dict[str, Pushed] = {}
        self.versioned = False
        """Whether its diagnostics say to which version of a file they belong."""
        self.progress: set[Any] = set()
        self.is_known = False
        """Whether it has had the time to say that it is loading."""
        self.is_over = False
        self.ended = asyncio.Event()
        """Set when nothing of it is left."""
        self.why = ""
        """Why it has ended; empty where we ended it."""
        self.pid = 0
        self.born = time.monotonic()
        self.written: set[str] = set()
        """Files that tools have written and that it has not been told about."""
        self.in_step = asyncio.Lock()
        self._used, self._busy = self.born, 0
        self._news, self._stop = asyncio.Event(), asyncio.Event()
        self.client: Client
        self.documents: Documents

    async def live(self, processes: Processes, started: asyncio.Future[None]) -> None:
        """Start it, keep it until it is idle, stopped or gone, and leave nothing of it behind."""
        config, root = self.chosen.config, Path(self.chosen.root)
        spec = ProcessSpec(
            self.chosen.argv,
            root,
            env=config.env,
            writable=(root,) if config.caches else (),
            network=False,
            max_output_bytes=MOST_STDERR,
        )
        try:
            async with processes.open(spec, grace=GRACE) as process:
                await self._converse(process, started)
        except ToolError as error:
            self.why = self.why or error.message
        except (ServerGoneError, RefusedError) as error:
            self.why = self.why or str(error)
        except TimeoutError:
            self.why = f"It did not answer within {self.limits.start:g} s of its start."
        finally:
            self.is_over = True
            self._tell()
            if not started.done():
                started.set_exception(ServerGoneError(self.why or "It was stopped."))

    def stop(self) -> None:
        """End it politely."""
        self._stop.set()

    async def ask(self, method: str, params: Any) -> Any:
        """One request, repeated when the server says that it was overtaken by a change."""
        for attempt in range(TRIES):
            try:
                self._busy += 1
                return await self.client.request(method, params, self.limits.request)
            except RefusedError as error:
                if error.code not in TRY_AGAIN or attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
            finally:
                self._busy -= 1
                self._used = time.monotonic()
        raise AssertionError("unreachable")

    def offers(self, capability: str, method: str) -> bool:
        """Whether the server has a capability, said at its start or registered later."""
        return bool(self.capabilities.get(capability)) or method in self.registered

    async def keep_in_step(self) -> None:
        """Tell the server what has changed on disk since the last request."""
        self._used = time.monotonic()
        async with self.in_step:
            written, self.written = self.written, set()
            found = await asyncio.to_thread(self.documents.scan)
            await self.documents.catch_up(written, found)

    async def settle(self, seconds: float) -> bool:
        """Wait while the server loads the project, but no longer than this; returns whether it has finished."""
        deadline = time.monotonic() + seconds
        while self.progress and not self.is_over:
            if not await self.news(deadline - time.monotonic()):
                return False
        return True

    async def news(self, seconds: float) -> bool:
        """Wait until the server has said something; False when it has not in this time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self._news.wait()
                return True
        return False

    async def _converse(self, process: OpenProcess, started: asyncio.Future[None]) -> None:
        self.pid = process.pid
        self.client = Client(process, self._notice, self._answer)
        self.documents = Documents(self.client, self.chosen.config.languages, self.chosen.root)
        listener = asyncio.create_task(self.client.listen())
        try:
            await asyncio.to_thread(self.documents.look)
            await self._initialize()
            started.set_result(None)
            await self._until_over(listener)
            if listener.done():
                self.why = listener.result()
            else:
                self.is_over = True
                await self._say_goodbye()
        finally:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def _initialize(self) -> None:
        config, root = self.chosen.config, self.chosen.root
        folder = {"uri": uri_of(root), "name": os.path.basename(root) or "/"}
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "pegboard"},
            "rootUri": folder["uri"],
            "rootPath": root,
            "workspaceFolders": [folder],
            "capabilities": CLIENT,
            "initializationOptions": config.options,
        }
        answer = await self.client.request("initialize", params, config.start_seconds or self.limits.start)
        told = answer.get("capabilities") if isinstance(answer, dict) else None
        self.capabilities = told if isinstance(told, dict) else {}
        await self.client.notify("initialized", {})
        if config.settings is not None:
            await self.client.notify("workspace/didChangeConfiguration", {"settings": config.settings})

    async def _until_over(self, listener: asyncio.Task[str]) -> None:
        stopped = asyncio.create_task(self._stop.wait())
        try:
            while not listener.done() and not stopped.done():
                left = self._used + self.limits.idle - time.monotonic()
                if left <= 0 and not self._busy:
                    return
                await asyncio.wait((listener, stopped), timeout=max(left, 0.05), return_when="FIRST_COMPLETED")
        finally:
            stopped.cancel()

    async def _say_goodbye(self) -> None:
        with suppress(TimeoutError, ServerGoneError, RefusedError):
            await self.client.request("shutdown", seconds=self.chosen.config.stop_seconds)
            await self.client.notify("exit")

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _notice(self, method: str, params: Any) -> None:
        """Take a notification. What is not as the protocol says is passed over."""
        if not isinstance(params, dict):
            return
        if method == "textDocument/publishDiagnostics":
            path, items, version = path_of(params.get("uri")), params.get("diagnostics"), params.get("version")
            if path and isinstance(items, list):
                version = version if isinstance(version, int) else None
                self.versioned = self.versioned or version is not None
                self.pushed[path] = Pushed(items[:MOST_PROBLEMS], version, time.monotonic())
        elif method == "$/progress":
            token, value = params.get("token"), params.get("value")
            kind = value.get("kind") if isinstance(value, dict) else None
            if isinstance(token, (str, int)) and kind in ("begin", "end"):
                (self.progress.add if kind == "begin" else self.progress.discard)(token)
        self._tell()

    def _answer(self, method: str, params: Any) -> Any:
        """The result of a request that the server makes; a `LookupError` for one that we do not know."""
        params = params if isinstance(params, dict) else {}
        if method == "workspace/configuration":
            items = params.get("items")
            return [self._setting(item) for item in items] if isinstance(items, list) else []
        if method == "client/registerCapability":
            wanted = params.get("registrations")
            named = (one.get("method") for one in wanted if isinstance(one, dict)) if isinstance(wanted, list) else ()
            self.registered.update(name for name in named if isinstance(name, str))
            self._tell()
            return None
        if method == "workspace/applyEdit":
            return {"applied": False}  # Files are changed by tools that a person has permitted.
        if method == "workspace/workspaceFolders":
            return [{"uri": uri_of(self.chosen.root), "name": os.path.basename(self.chosen.root)}]
        if method in (
            "client/unregisterCapability",
            "window/workDoneProgress/create",
            "window/showMessageRequest",
            "workspace/diagnostic/refresh",
        ):
            return None
        raise LookupError(method)

    def _setting(self, item: Any) -> Any:
        """The part of its settings that a server asks for, such as `python.analysis`."""
        value, section = self.chosen.config.settings, item.get("section") if isinstance(item, dict) else None
        for part in section.split(".") if isinstance(section, str) and section else ():
            value = value.get(part) if isinstance(value, dict) else None
        return value
