"""All language servers of a board, in a thread with an event loop of its own.

A server outlives the call that starts it, and is shared by every session of a board, whichever event loop they use.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextvars import Context as Variables
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.lowlevel import current_token

from pegboard import Context, Settings, ToolError
from pegboard_lsp.choice import Chosen
from pegboard_lsp.live_server import Limits, RunningServer
from pegboard_lsp.server import Server
from pegboard_lsp.server_config import FoundServers, find_servers

if TYPE_CHECKING:
    from pegboard_files import FileEvent

T = TypeVar("T")
MOST_WRITTEN = 100
FAREWELL = 8.0
"""Seconds that all servers together have to end."""


class Hub:
    """The servers of one board. Nothing is started before the tool needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._found: FoundServers | None = None
        self.servers: dict[Any, Server] = {}
        self.last_problems: dict[str, list[str]] = {}
        """The problems of each file that were last reported, for telling which ones an edit has caused."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._sessions: set[str] = set()
        self._deaf: Callable[[], None] | None = None
        self._written: deque[str] = deque(maxlen=MOST_WRITTEN)

    @property
    def found(self) -> FoundServers:
        """The servers that settings and files name, and the built-in ones."""
        if self._found is None:
            self._found = find_servers(self._settings)
        return self._found

    def is_running(self, chosen: Chosen) -> bool:
        """Whether a server can be asked without being started."""
        server = self.servers.get(chosen.key)
        return server is not None and server.is_running

    async def ask(self, chosen: Chosen, ctx: Context, work: Callable[[RunningServer], Awaitable[T]]) -> T:
        """Do something with a running server, which is started where it may be."""
        self._start(ctx)
        processes = ctx.processes
        may_start = not chosen.asks or not _only_reads(ctx)

        async def act() -> T:
            server = self.servers.get(chosen.key)
            if server is None:
                get = self._settings.get
                limits = Limits(get("lsp.startTimeout"), get("lsp.requestTimeout"), get("lsp.idleSeconds"))
                server = self.servers[chosen.key] = Server(chosen, limits)
            return await server.ask(processes, work, may_start=may_start)

        return await self._run(act)

    def enter(self, session_id: str) -> None:
        """A session begins."""
        self._sessions.add(session_id)

    async def leave(self, session_id: str) -> None:
        """A session ends; with the last one the servers do."""
        self._sessions.discard(session_id)
        if not self._sessions and self._thread is not None:
            await anyio.to_thread.run_sync(self.close)

    def close(self) -> None:
        """End all servers at once and wait for them, but not forever."""
        with self._lock:
            thread, loop, self._thread, self._loop = self._thread, self._loop, None, None
            deaf, self._deaf = self._deaf, None
        if deaf is not None:
            deaf()
        if thread is None or loop is None or self._stop is None:
            return
        atexit.unregister(self.close)
        try:
            loop.call_soon_threadsafe(self._stop.set)
        except RuntimeError:
            return  # The loop has ended by itself.
        thread.join(FAREWELL)

    def _start(self, ctx: Context) -> None:
        with self._lock:
            if self._thread is not None:
                return
            began = threading.Event()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._serve(began)), name="pegboard-lsp", daemon=True
            )
            self._thread.start()
            began.wait()
            atexit.register(self.close)
        self.listen(ctx)

    def listen(self, ctx: Context) -> None:
        """Be told about every file that a tool writes."""
        with self._lock:
            if self._deaf is None and ctx.services.files is not None:
                self._deaf = ctx.files.listen(self._hear)

    def take_written(self) -> list[str]:
        """The files that tools have written since this was last asked."""
        return [self._written.popleft() for _ in range(len(self._written))]

    def _hear(self, event: FileEvent) -> None:
        """A tool has read or written a file; called in any thread."""
        if event.kind != "read":
            self._written.append(str(event.path))
            for server in [*self.servers.values()]:
                if server.running is not None:
                    server.running.written.add(str(event.path))

    async def _serve(self, began: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        began.set()
        await self._stop.wait()
        for server in self.servers.values():
            server.stop()
        lives = [life for server in self.servers.values() for life in server.lives]
        if lives:
            _, slow = await asyncio.wait(lives, timeout=FAREWELL / 2)
            for life in slow:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)
        self.servers.clear()

    async def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something in the hub's loop and wait for it in this one, asyncio or trio. Cancelled, it is cancelled."""
        loop = self._loop
        if loop is None:
            raise ToolError("The language servers were stopped: the session has ended.", code="failed")

        async def begin() -> T:
            return await work()

        # In variables of its own: those of a caller under trio would tell anyio that the hub's loop is trio's.
        future: Future[T] = Variables().run(asyncio.run_coroutine_threadsafe, begin(), loop)
        native: Any = current_token().native_token
        soon = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon
        done = anyio.Event()
        future.add_done_callback(lambda _: _ring(soon, done))
        try:
            await done.wait()
            return future.result()
        except CancelledError:
            raise ToolError("The language servers were stopped: the session has ended.", code="failed") from None
        finally:
            future.cancel()


def _ring(soon: Callable[..., object], done: anyio.Event) -> None:
    try:
        soon(done.set)
    except RuntimeError:
        return  # The caller's event loop is over: no one waits.


def _only_reads(ctx: Context) -> bool:
    """Whether the call was allowed because it only reads: then no person has agreed to start anything."""
    # Imported late: listing tools must not pay for it.
    from pegboard.permission import READS

    return ctx.decision is not None and ctx.decision.layer == READS


def hub_of(settings: Settings) -> Hub:
    """The hub of a board, made when it is first asked for and kept with the board's settings."""
    known = settings.__dict__.get("lsp_hub")
    if not isinstance(known, Hub):
        known = settings.__dict__["lsp_hub"] = Hub(settings)
    return known
