"""All servers of a board, in a thread with an event loop of its own.

A connection must be entered and left in one task, outlives single calls, and is shared by every session of a board,
whichever event loop they use. The thread also keeps the import of the SDK, and the parsing of large messages, away
from the loop that draws the screen.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from pegboard import Notice, Settings, ToolError
from pegboard_mcp.callbacks import Callbacks
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.connection import Connection, Where
from pegboard_mcp.errands import Errand
from pegboard_mcp.limits import may_sample
from pegboard_mcp.reading import find_servers
from pegboard_mcp.store import Shelf

if TYPE_CHECKING:
    import pegboard

T = TypeVar("T")
FAREWELL = 5.0
"""Seconds that all servers together have to end."""


class Hub:
    """The servers of one board. Nothing is started before a session begins or a tool is called."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        found: tuple[list[ServerConfig], list[Notice]] | None = None,
    ) -> None:
        """`found` are servers and notices in place of those that settings name."""
        self.settings = settings
        servers, self.notices = find_servers(settings, env) if found is None else found
        self.connections = {server.name: Connection(server, Shelf(server, env)) for server in servers if server.enabled}
        self.disabled = [server for server in servers if not server.enabled]
        self._sessions: set[str] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.callbacks = Callbacks([], sampling=False)
        self.open_address: Callable[[str], Awaitable[None]] | None = None
        """How to show a login's address to a person; a host that can sets it before servers start."""
        for connection in self.connections.values():
            connection.recall()
            name = f"the MCP server {server_label(connection)}"
            self.notices += [Notice(name, words) for words in connection.refused]

    def enter(self, session_id: str, ctx: pegboard.Context) -> None:
        """A session begins: start every server in the background."""
        self._sessions.add(session_id)
        self.start(ctx)

    async def leave(self, session_id: str) -> None:
        """A session ends; with the last one the servers do."""
        self._sessions.discard(session_id)
        if not self._sessions:
            await anyio.to_thread.run_sync(self.close)

    def start(self, ctx: pegboard.Context) -> None:
        """Make sure that the servers are being started. Returns at once."""
        with self._lock:
            if self._thread is not None or not self.connections:
                return
            get = self.settings.get
            self.callbacks = Callbacks([ctx.cwd, *ctx.roots], sampling=may_sample(self.settings))
            self.callbacks.open_address = self.open_address
            processes = ctx.processes
            apart = getattr(processes, "apart", None)  # Its own life: the session's processes belong to another loop.
            where = Where(
                apart() if apart else processes, Path(self.settings.cwd), get("mcp.connectTimeout"), self.callbacks
            )
            began = threading.Event()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._run(where, began)), name="pegboard-mcp", daemon=True
            )
            self._thread.start()
            began.wait()
            atexit.register(self.close)

    def close(self) -> None:
        """End all servers at once and wait for them, but not forever."""
        with self._lock:
            thread, loop, self._thread, self._loop = self._thread, self._loop, None, None
        if thread is None or loop is None or self._stop is None:
            return
        atexit.unregister(self.close)
        try:
            loop.call_soon_threadsafe(self._stop.set)
        except RuntimeError:
            return  # The loop has ended by itself.
        thread.join(FAREWELL)

    async def settle(self, seconds: float) -> None:
        """Wait until every server whose tools are not known has connected or failed, but no longer than this."""
        waiting = [one for one in self.connections.values() if not one.known and one.state != "changed"]
        if self._loop is None or not waiting:
            return
        with anyio.move_on_after(seconds):
            await self.run(lambda: _all_settled(waiting))

    async def reached(self, connections: list[Connection]) -> None:
        """Wait until each of these has connected or failed; the limit is that of connecting."""
        if self._loop is not None:
            await self.run(lambda: _all_settled(connections))

    async def restart(self, connection: Connection, ctx: pegboard.Context) -> None:
        """End a server and start it again, or start one that has failed."""
        self.start(ctx)

        async def again() -> None:
            connection.lost("It was restarted.")
            connection.client = None
            await connection.ready()

        if connection.state != "changed":
            await self.run(again)

    async def run(self, work: Callable[[], Awaitable[T]], handle: Any = None, errand: Errand | None = None) -> T:
        """Do something in the hub's loop and wait for it in this one."""
        loop = self._loop
        if loop is None:
            raise ToolError("The connection to the MCP server was closed.", code="failed")

        async def begin() -> T:
            return await work()

        errand = errand or Errand()
        # In a context of its own: that of a caller under trio would tell anyio that the hub's loop is trio's.
        future = Context().run(asyncio.run_coroutine_threadsafe, begin(), loop)
        done: T = await errand.wait(future, handle)
        return done

    async def _run(self, where: Where, began: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        began.set()
        try:
            async with _entered(where.processes), anyio.create_task_group() as tasks:
                for connection in self.connections.values():
                    connection.settled = asyncio.Event()
                    tasks.start_soon(connection.supervise, where)
                await self._stop.wait()
                tasks.cancel_scope.cancel()
        finally:
            for connection in self.connections.values():
                if connection.state != "changed":
                    connection.state = "idle"


def server_label(connection: Connection) -> str:
    """A server for messages: its name and where it is written."""
    server = connection.server
    return f"{server.name} ({server.source})" if server.source else server.name


async def _all_settled(connections: list[Connection]) -> None:
    for connection in connections:
        await connection.settled.wait()


class _entered:  # noqa: N801 - a function in all but its shape
    """The service while it is open, if it is one that opens."""

    def __init__(self, service: Any) -> None:
        self._service = service if hasattr(service, "__aenter__") else None

    async def __aenter__(self) -> None:
        if self._service is not None:
            await self._service.__aenter__()

    async def __aexit__(self, *exception: Any) -> None:
        if self._service is not None:
            await self._service.__aexit__(*exception)


def hub_of(settings: Settings, env: Mapping[str, str]) -> Hub:
    """The hub of a board, made when it is first asked for and kept with the board's settings."""
    known = settings.__dict__.get("mcp_hub")
    if not isinstance(known, Hub):
        known = settings.__dict__["mcp_hub"] = Hub(settings, env)
    return known
