"""A server over the whole session: started when it is needed, and again after it has ended by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from pegboard import ToolError
from pegboard.wording import counted
from pegboard_lsp.choice import Chosen
from pegboard_lsp.client import RefusedError, ServerGoneError
from pegboard_lsp.live_server import Limits, RunningServer

if TYPE_CHECKING:
    from pegboard_processes import Processes

T = TypeVar("T")
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0
PATIENCE = 5.0
"""Seconds that a call waits for the next attempt to start a server."""
FORGIVEN_AFTER = 300.0
MOST_SILENCES = 2
"""After so many requests in a row without an answer a server is ended: the next call starts it again."""


class Server:
    """One server in one folder. It is used in the event loop of the hub."""

    def __init__(self, chosen: Chosen, limits: Limits) -> None:
        self.chosen, self._limits = chosen, limits
        self.running: RunningServer | None = None
        self.starts = 0
        self.lives: set[asyncio.Task[None]] = set()
        self._failures, self._silences = 0, 0
        self._ended, self._why = 0.0, ""
        self._lock = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it can be asked without being started."""
        return self.running is not None and not self.running.is_over

    async def ask(self, processes: Processes, work: Callable[[RunningServer], Awaitable[T]], *, may_start: bool) -> T:
        """Do something with the running server. One that ends in the middle is started again, once."""
        name = self.chosen.config.name
        for is_last in (not self.chosen.config.restarts, True):
            running = await self._started(processes, may_start=may_start)
            try:
                value = await work(running)
            except ServerGoneError as error:
                await running.ended.wait()
                if is_last:
                    raise ToolError(
                        f"The language server {name} ended while it was asked. {error}", code="failed"
                    ) from None
            except TimeoutError:
                raise self._silence(running) from None
            except RefusedError as error:
                self._silences = 0
                raise ToolError(f"The language server {name} refused the request: {error}", code="failed") from None
            else:
                self._failures = self._silences = 0
                return value
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End it politely."""
        if self.running is not None:
            self.running.stop()

    async def _started(self, processes: Processes, *, may_start: bool) -> RunningServer:
        async with self._lock:
            if self.running is not None and not self.running.is_over:
                return self.running
            if not may_start:
                raise ToolError(
                    f"The language server {self.chosen.config.name} has ended. Call again to start it.", code="failed"
                )
            await self._back_off()
            running = RunningServer(self.chosen, self._limits)
            started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            life = asyncio.create_task(self._live(running, processes, started))
            self.lives.add(life)
            life.add_done_callback(self.lives.discard)
            self.starts += 1
            try:
                await asyncio.shield(started)
            except ServerGoneError as error:
                reason = f"The language server {self.chosen.config.name} could not be started. {error}"
                raise ToolError(reason, code="failed", remedy="Use Grep instead.") from None
            except asyncio.CancelledError:
                started.cancel()
                running.stop()
                life.cancel()
                raise
            self.running = running
            return running

    async def _live(self, running: RunningServer, processes: Processes, started: asyncio.Future[None]) -> None:
        apart = getattr(processes, "apart", None)  # Its own life: the session's processes belong to another loop.
        try:
            if apart is None:
                await running.live(processes, started)
            else:
                async with apart() as own:
                    await running.live(own, started)
        finally:
            if running.why:
                self._failures += 1
                self._ended, self._why = time.monotonic(), running.why
            running.ended.set()

    async def _back_off(self) -> None:
        """Wait before another attempt, longer each time; a `ToolError` when it has failed too often."""
        if not self._failures:
            return
        passed, name = time.monotonic() - self._ended, self.chosen.config.name
        if self._failures > self.chosen.config.restarts and passed < FORGIVEN_AFTER:
            raise ToolError(
                f"The language server {name} has ended {counted(self._failures, 'time')} in a row and is not started "
                f"again for {FORGIVEN_AFTER:g} s. {self._why}",
                code="failed",
                remedy="Use Grep instead.",
            )
        pause = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE) - passed
        if pause > PATIENCE:
            raise ToolError(
                f"The language server {name} has ended {counted(self._failures, 'time')} in a row. It is started again "
                f"in {pause:.0f} s at the earliest. {self._why}",
                code="failed",
                remedy="Use Grep instead.",
            )
        await asyncio.sleep(max(pause, 0))

    def _silence(self, running: RunningServer) -> ToolError:
        self._silences += 1
        restarts = self._silences >= MOST_SILENCES
        if restarts:
            self._silences = 0
            running.is_over = True
            running.stop()
        then = " It is started anew by the next call." if restarts else ""
        name, seconds = self.chosen.config.name, self._limits.request
        return ToolError(f"The language server {name} did not answer within {seconds:g} s.{then}", code="timeout")
