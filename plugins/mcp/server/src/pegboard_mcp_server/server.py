"""The protocol side: the SDK's server with handlers for the pool, in both eras of the protocol."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from pegboard import Board, Call, Context
from pegboard_mcp_server.call_results import call_result
from pegboard_mcp_server.exchange import PATIENCE, Exchange
from pegboard_mcp_server.tool_list import page_of_tools, schema_of
from pegboard_mcp_server.workspaces import Workspace

NAME = "pegboard"
CALLER = "pegboard.caller"
"""Where an HTTP request's scope holds a function to call when its sender has gone."""
STATE = "pegboard"

Request = ServerRequestContext[Any, Any]
Params = TypeVar("Params")
Answer = TypeVar("Answer")
Handler = Callable[[Request, Params], Awaitable[Answer]]
log = logging.getLogger("pegboard")


class PoolServer(Server[Any]):
    """The pool of one board as an MCP server. Use it inside `serving`."""

    tasks: TaskGroup

    def __init__(self, board: Board, base: Context, version: str, transport: Literal["stdio", "http"]) -> None:
        self._bus = InMemorySubscriptionBus()
        super().__init__(
            NAME,
            version=version,
            title="Pegboard",
            get_tool_input_schema=lambda name: schema_of(board, name),
            on_list_tools=_sealed(self._list),
            on_call_tool=_sealed(self._call),
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        # Registered here: the constructor's own way warns, because newer clients have other means.
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _sealed(self._set_level))
        self.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots_changed)
        self._listeners: dict[Connection, ServerSession] = {}
        security = RequestStateSecurity.ephemeral(ttl=PATIENCE)
        self.middleware.append(_ClientNotes(self._listeners))
        self.middleware.append(RequestStateBoundary(security, default_audience=NAME))
        self._board, self._base, self._transport = board, base, transport
        self._by_owner: dict[str, Workspace] = {}
        self._opening = anyio.Lock()
        self._parked: dict[str, tuple[Exchange, Workspace]] = {}

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *given: Any, **named: Any
    ) -> InitializationOptions:
        """Tell older clients on every transport that they will be told about changed tools."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *given, **named)

    async def announce(self) -> None:
        """Tell every client that the tools have changed."""
        await self._bus.publish(ToolsListChanged())
        for session in list(self._listeners.values()):
            with anyio.move_on_after(5):
                try:
                    await session.send_tool_list_changed()
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    log.debug("a client left before it was told about changed tools")

    @property
    def tool_count(self) -> int:
        """How many tools are served."""
        return len(self._board.pool.entries)

    def close(self) -> None:
        """End every call and every session."""
        for workspace in self._by_owner.values():
            workspace.close()

    async def _list(self, request: Request, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self._board.refresh()
        return page_of_tools(self._board, params.cursor if params else None)

    async def _call(
        self, request: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        exchange, workspace = self._resumed(request, params) or await self._begun(request, params)
        caller = getattr(request.request, "scope", {}).get(CALLER)
        if caller is not None and request.session.can_send_request:
            caller.when_gone(exchange.scope.cancel)
        try:
            await exchange.settled()
        except anyio.get_cancelled_exc_class():
            exchange.scope.cancel()
            raise
        if exchange.result is None:
            return self._park(exchange, workspace)
        if exchange.lacks and not request.session.can_send_request:
            needed = {"requiredCapabilities": exchange.lacks.model_dump(by_alias=True, mode="json", exclude_none=True)}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, exchange.result.text, needed)
        entry = self._board.pool.get(params.name)
        return call_result(exchange.result, entry.record["max_result_chars"] if entry else None)

    async def _begun(self, request: Request, params: types.CallToolRequestParams) -> tuple[Exchange, Workspace]:
        self._board.refresh()
        if self._board.pool.get(params.name) is None:
            result = await self._board.call(params.name)  # It says why there is no such tool.
            raise MCPError(types.INVALID_PARAMS, result.text)
        workspace = await self._workspace(request)
        call = Call(f"mcp-{secrets.token_hex(6)}", params.name, params.arguments or {})
        exchange = Exchange(call, request, params.input_responses)
        workspace.begin(exchange)
        return exchange, workspace

    def _park(self, exchange: Exchange, workspace: Workspace) -> types.InputRequiredResult:
        """Let the client answer first. The call waits, for as long as a person may take."""
        exchange.round += 1
        self._parked = {key: kept for key, kept in self._parked.items() if kept[0].result is None}
        self._parked[exchange.call.id] = (exchange, workspace)
        state = f"{exchange.call.id} {exchange.round}"
        return types.InputRequiredResult(input_requests=dict(exchange.pending), request_state=state)

    def _resumed(self, request: Request, params: types.CallToolRequestParams) -> tuple[Exchange, Workspace] | None:
        """The call that this request goes on with. Its state was sealed, so it is one that this client began."""
        if params.request_state is None:
            return None
        call_id, _, number = params.request_state.partition(" ")
        exchange, workspace = self._parked.pop(call_id, (None, None))
        if exchange is None or workspace is None or str(exchange.round) != number or exchange.result is not None:
            raise MCPError(types.INVALID_PARAMS, "This question is no longer open. Call the tool again.")
        exchange.come_back(request, params.input_responses)
        return exchange, workspace

    async def _workspace(self, request: Request) -> Workspace:
        """The state of the client that sends this request."""
        connection = connection_of(request)
        if request.session.can_send_request:
            async with self._opening:
                if STATE not in connection.state:
                    workspace = connection.state[STATE] = await self._open(shared=False)
                    connection.exit_stack.push_async_callback(_leave, workspace)
            found: Workspace = connection.state[STATE]
            return found
        token = get_access_token()
        owner = token.client_id if token else self._transport
        async with self._opening:
            known = self._by_owner.get(owner)
            if known is None or known.closed.is_set():
                known = self._by_owner[owner] = await self._open(shared=self._transport == "http")
        return known

    async def _open(self, *, shared: bool) -> Workspace:
        workspace = Workspace(self._board, self._base, shared=shared)
        await self.tasks.start(workspace.live)
        if shared:
            self.tasks.start_soon(workspace.close_when_idle)
        return workspace

    async def _set_level(self, request: Request, params: types.SetLevelRequestParams) -> types.EmptyResult:
        (await self._workspace(request)).log_level = params.level
        return types.EmptyResult()

    async def _roots_changed(self, request: Request, params: types.NotificationParams | None) -> None:
        workspace = connection_of(request).state.get(STATE)
        if isinstance(workspace, Workspace):
            workspace.forget_roots()


class _ClientNotes:
    """Remembers older clients while they are connected: they are told about changed tools without asking."""

    def __init__(self, listeners: dict[Connection, ServerSession]) -> None:
        self._listeners = listeners

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        connection = connection_of(ctx)
        if ctx.session.can_send_request and connection not in self._listeners:
            self._listeners[connection] = ctx.session
            connection.exit_stack.callback(self._listeners.pop, connection, None)
        return await call_next(ctx)


async def _leave(workspace: Workspace) -> None:
    workspace.close()
    await workspace.closed.wait()


def connection_of(request: Request) -> Connection:
    """The connection of a request. The SDK has no public way to it, but documents its `state` and `exit_stack`."""
    return request.session._connection


def _sealed(handler: Handler[Params, Answer]) -> Handler[Params, Answer]:
    """A handler whose exceptions stay here: to older clients the SDK would send their text, with paths in it."""

    async def sealed(request: Request, params: Params) -> Answer:
        try:
            return await handler(request, params)
        except MCPError:
            raise
        except Exception:
            log.exception("%s failed", request.method)
            raise MCPError(types.INTERNAL_ERROR, "Internal error") from None

    return sealed
