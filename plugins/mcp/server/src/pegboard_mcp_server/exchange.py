"""One call of a client: what it asks on the way, its signs of life, and its result.

Older clients are asked by a request of ours while theirs is open. Newer ones get a preliminary result that names what
is needed, and send the call again with the answers: the call itself goes on where it was, so nothing runs twice.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import mcp_types as types
from anyio import CancelScope, Event, create_memory_object_stream, fail_after, move_on_after
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

from pegboard import Call, Progress, Result, Text, ToolError
from pegboard_mcp_server.call_results import sound
from pegboard_mcp_server.gate import Gate

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

PATIENCE = 600.0
"""Seconds that a person has for an answer."""
BACKLOG = 100
"""Signs of life that wait for a slow client; further ones are dropped."""

InputRequest = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest
ANSWERS: dict[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
log = logging.getLogger("pegboard")
current: ContextVar[Exchange | None] = ContextVar("the call of an MCP client", default=None)
"""The call that is being handled here. Tasks and threads that it starts inherit it."""


class Exchange:
    """A call from its first request to its result."""

    def __init__(self, call: Call, request: ServerRequestContext[Any, Any], given: Mapping[str, Any] | None) -> None:
        """`given` are answers that came with the call itself, by the key under which a tool would ask for them."""
        self.call, self.request, self._given = call, request, dict(given or {})
        self.scope = CancelScope()
        self.result: Result | None = None
        self.gate, self.approved = Gate(1), set[str]()
        """Those of the client, once the call has begun."""
        self.safe = False
        """Whether it may act beside others, once that is known."""
        self.roots: tuple[Path, ...] | None = None
        """The folders to which the client's roots narrow the call; None where it offers none."""
        self.lacks: types.ClientCapabilities | None = None
        """What a tool needed that the client does not offer."""
        self.pending: dict[str, InputRequest] = {}
        """What the client has been asked, or is about to be, and has not answered."""
        self.round = 0
        self._answers: dict[str, Any] = {}
        self._news, self._answered = Event(), Event()
        self._count = 0
        self._to_client, self._from_tool = create_memory_object_stream[Progress](BACKLOG)

    @property
    def offers(self) -> types.ClientCapabilities:
        """What the client can do."""
        return self.request.session.client_capabilities or types.ClientCapabilities()

    @property
    def can_ask_a_person(self) -> bool:
        """Whether the client puts forms to a person; a bare `elicitation` means that it does."""
        offered = self.offers.elicitation
        return offered is not None and (offered.form is not None or offered.url is None)

    async def settled(self) -> None:
        """Wait for the result, or for questions that the client has to answer first."""
        while self.result is None and not self.pending:
            await self._news.wait()

    def finish(self, result: Result) -> None:
        """The call is over."""
        self.result = result
        self.pending.clear()
        self._to_client.close()
        self._tell()

    def fail(self, words: str, code: str) -> None:
        """The call is over without having been handled."""
        self.finish(Result(self.call.id, self.call.name, (Text(words),), is_error=True, code=code))

    async def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Put questions to the client, all at once where it can take them so. Raises `TimeoutError` without answers."""
        with fail_after(PATIENCE):
            if self.request.session.can_send_request:
                return {key: await self._send(request) for key, request in requests.items()}
            return await self._collect(requests)

    async def ask_one(self, request: InputRequest, key: str = "") -> Any:
        """Put one question to the client. Without a key it cannot have been answered beforehand."""
        key = key or f"question-{secrets.token_hex(8)}"
        return (await self.ask({key: request}))[key]

    async def _send(self, request: InputRequest) -> Any:
        answer = ANSWERS[request.method]
        meta = ServerMessageMetadata(related_request_id=self.request.request_id)
        return await self.request.session.send_request(request, answer, metadata=meta)

    async def _collect(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Wait until the client has come back with all answers."""
        self.pending |= requests
        self.take(self._given)
        try:
            while self.pending.keys() & requests.keys():
                self._tell()
                await self._answered.wait()
            return {key: self._answers.pop(key) for key in requests}
        finally:
            for key in requests:
                self.pending.pop(key, None)

    def come_back(self, request: ServerRequestContext[Any, Any], answers: Mapping[str, Any] | None) -> None:
        """The client has sent the call again, with answers."""
        self.request = request
        self.take(answers or {})

    def take(self, answers: Mapping[str, Any]) -> None:
        """Keep the answers to what was asked; others, and those that do not fit, are as good as none."""
        for key in self.pending.keys() & answers.keys():
            raw = answers[key]
            kind = ANSWERS[self.pending[key].method]
            try:
                self._answers[key] = kind.model_validate(raw.model_dump() if isinstance(raw, BaseModel) else raw)
            except ValidationError:
                continue
            del self.pending[key]
        self._answered.set()
        self._answered = Event()

    def _tell(self) -> None:
        self._news.set()
        self._news = Event()

    def report(self, progress: Progress) -> None:
        """A sign of life from the tool. Called in the event loop's thread."""
        try:
            self._to_client.send_nowait(progress)
        except Exception:  # The client is slow or gone: a sign of life is not worth waiting for.
            log.debug("a progress message of %s was dropped", self.call.name)

    async def forward_progress(self, level: str) -> None:
        """Send signs of life to the client until the call is over: as progress, or as log lines without a token."""
        async with self._from_tool:
            async for progress in self._from_tool:
                try:
                    with move_on_after(10):
                        await self._forward(progress, level)
                except Exception:  # A client that has gone, or words that cannot be sent, must not end other calls.
                    log.debug("a progress message of %s was not sent", self.call.name, exc_info=True)

    async def _forward(self, progress: Progress, level: str) -> None:
        session, meta, words = self.request.session, self.request.meta or {}, sound(progress.message)
        if meta.get("progress_token") is not None:
            self._count += 1
            done, total = progress.data.get("progress"), progress.data.get("total")
            amount = float(done) if isinstance(done, (int, float)) else float(self._count)
            await session.report_progress(amount, total if isinstance(total, (int, float)) else None, words)
        elif session.can_send_request and level in ("debug", "info"):
            params = types.LoggingMessageNotificationParams(level="info", data=words, logger=self.call.name)
            notice = types.LoggingMessageNotification(params=params)
            await session.send_notification(notice, related_request_id=self.request.request_id)


def ask_client(error: Exception) -> ToolError:
    """What a tool hears when the client could not be asked."""
    if isinstance(error, TimeoutError):
        return ToolError("The client did not answer in time.", code="timeout")
    if isinstance(error, (MCPError, ValidationError)):
        return ToolError("The client refused the question, or its answer was not valid.", code="failed")
    raise error
