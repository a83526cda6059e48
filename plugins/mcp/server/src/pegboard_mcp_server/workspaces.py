"""What belongs to one client: a session with its files, processes and background work, and the folder it works in."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import mcp_types as types
from anyio import TASK_STATUS_IGNORED, Event, create_task_group, move_on_after
from anyio.abc import TaskGroup, TaskStatus
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pegboard import Board, Context, ProviderError, ToolError
from pegboard.hosting import AbandonedThreads, run_calls, turn_options
from pegboard_mcp_server.client_roots import folders_of, within_roots
from pegboard_mcp_server.exchange import Exchange, ask_client, current
from pegboard_mcp_server.gate import Gate
from pegboard_mcp_server.tool_list import needs_roots
from pegboard_session import Provider, ProviderEvent, Request, Session, Stop, find_providers

IDLE_SECONDS = 1800.0
"""After so long without a call, the state of clients without a connection is closed: what they left running ends."""
ROOTS_SECONDS = 10.0
"""How long a client may take to name its roots."""
log = logging.getLogger("pegboard")


class Workspace:
    """The state of one client. In a `shared` one, for clients without a connection, nothing moves between calls."""

    ctx: Context
    calls: TaskGroup

    def __init__(self, board: Board, base: Context, *, shared: bool) -> None:
        self.board, self._base, self.shared = board, base, shared
        self.options = turn_options(board.settings)
        self.options["abandoned"] = AbandonedThreads()
        self.gate = Gate(self.options["cap"])
        self.approved: set[str] = set()
        """Rules that the person agreed to until this client leaves."""
        self.log_level = "info"
        self.used = time.monotonic()
        self.busy = 0
        self._offered: list[str] | None = None
        self._closing, self.closed = Event(), Event()

    async def live(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Keep the session open until `close`. What its calls and processes still do then is ended."""
        provider = _provider(self.board)
        model = self.board.settings.get("model", getattr(provider, "default_model", ""))
        session = Session(self.board, provider, model=model, ctx=self._base)
        try:
            async with session:
                self.ctx = _without_views(session.ctx)
                async with create_task_group() as self.calls:
                    task_status.started()
                    await self._closing.wait()
                    self.calls.cancel_scope.cancel()
        finally:
            self.closed.set()

    def close(self) -> None:
        """The client has left."""
        self._closing.set()

    async def close_when_idle(self) -> None:
        """Notice that clients without a connection have gone."""
        while not self._closing.is_set():
            left = self.used + IDLE_SECONDS - time.monotonic()
            if left <= 0 and not self.busy:
                self.close()
            with move_on_after(max(left, 1.0)):
                await self._closing.wait()

    def forget_roots(self) -> None:
        """The client says that its roots have changed."""
        self._offered = None

    def begin(self, exchange: Exchange) -> None:
        """Start a call. It lives in the workspace, because in the new protocol it outlives its first request."""
        exchange.gate, exchange.approved = self.gate, self.approved
        self.calls.start_soon(self._handle, exchange)
        self.calls.start_soon(exchange.forward_progress, self.log_level)

    async def _handle(self, exchange: Exchange) -> None:
        current.set(exchange)
        self.busy += 1
        try:
            with exchange.scope:
                await self._run(exchange)
        except Exception:
            log.exception("a call to %s failed", exchange.call.name)
            exchange.fail(f"{exchange.call.name} failed because of a bug in this server.", "internal")
        finally:
            self.busy -= 1
            self.used = time.monotonic()
            if exchange.result is None:
                exchange.fail(f"{exchange.call.name} was cancelled by the client.", "cancelled")

    async def _run(self, exchange: Exchange) -> None:
        try:
            ctx = await self._context(exchange)
        except ToolError as error:
            exchange.fail(error.message, error.code)
            return
        ctx = replace(ctx, on_progress=exchange.report)
        results, _ = await run_calls(self.board, [exchange.call], ctx, **self.options)
        if not self.shared and results[0].change is not None:
            self.ctx = self.ctx.after(results[0].change)
        exchange.finish(results[0])

    async def _context(self, exchange: Exchange) -> Context:
        """The context of the next call, inside the roots that the client offers."""
        entry = self.board.pool.get(exchange.call.name)
        if exchange.offers.roots is None or (entry and not needs_roots(entry)):
            return self.ctx
        if self._offered is None or not exchange.request.session.can_send_request:
            self._offered = await _roots(exchange)
        if not self._offered:  # A client that can have roots, and has none.
            return self.ctx
        configured = (Path(self.board.settings.cwd), *self._base.roots)
        ctx = within_roots(self.ctx, configured, folders_of(self._offered))
        exchange.roots = ctx.roots
        return ctx


def _without_views(ctx: Context) -> Context:
    """The context with a record of files that does not remember what was shown.

    Where a client's conversation begins and ends is not known here: "you have read this already" may be wrong.
    """
    files = ctx.services.files
    return ctx if files is None else replace(ctx, services=replace(ctx.services, files=files.fork()))


async def _roots(exchange: Exchange) -> list[str]:
    found: types.ListRootsResult | None = None
    try:
        with move_on_after(ROOTS_SECONDS if exchange.request.session.can_send_request else None):
            found = await exchange.ask_one(types.ListRootsRequest())
    except (TimeoutError, MCPError, ValidationError) as error:
        raise ask_client(error) from error
    if found is None:
        raise ToolError("The client offers roots but did not name them.", code="timeout")
    return [str(root.uri) for root in found.roots]


def _provider(board: Board) -> Provider:
    """The model for tools that ask one, such as sub-agents. One that is not set up says so when it is asked."""
    found = find_providers(board)
    return found.get(board.settings.get("provider")) or _NoProvider()


class _NoProvider:
    """Used where no provider is installed."""

    name = "none"
    default_model = "none"

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        if request.model:  # Always: it makes this a generator that yields nothing.
            reason = "No model is set up for this server. Install a provider and set its key."
            raise ProviderError(reason, kind="script")
        yield Stop()
