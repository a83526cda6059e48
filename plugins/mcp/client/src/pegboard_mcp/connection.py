"""One server, from its start to its end: connect, list, listen for changes, and begin again when it dies.

Everything here runs in the event loop of the hub's thread. What others read is replaced in one step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from pegboard_mcp.config import ConfigError, ServerConfig
from pegboard_mcp.definitions import Definition, read_definitions
from pegboard_mcp.faults import words_for
from pegboard_mcp.fetch import fetch
from pegboard_mcp.store import Listing, Shelf

if TYPE_CHECKING:
    from mcp import Client

    from pegboard_mcp.callbacks import Callbacks
    from pegboard_processes import Processes

# Imports happen inside functions: the SDK takes a second to import, and only a connecting task needs it.

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before a server is started again; each failure in a row doubles the pause."""
MOST_FAILURES = 6
"""After so many failures in a row a server is left alone until someone calls it."""
SETTLED = 30.0
"""A server that was up for so many seconds has recovered: the next pause is the first again."""
SETTLING = 0.05
"""Seconds in which several notices of a changed list count as one."""

log = logging.getLogger("pegboard.mcp")


@dataclass(frozen=True)
class Where:
    """What a connection needs from the host."""

    processes: Processes
    folder: Path
    connect_timeout: float
    callbacks: Callbacks


class Connection:
    """A server and what is known about it."""

    def __init__(self, server: ServerConfig, shelf: Shelf) -> None:
        self.server, self.shelf = server, shelf
        self.state = "idle"
        """`idle`, `starting`, `ready`, `lost`, `failed`; or `changed`, for a project's server with another command."""
        self.problem = ""
        self.version = 0
        self.refused: list[str] = []
        self.definitions: list[Definition] = []
        self.listing = Listing()
        self.known = False
        """Whether its tools are known, from now or from an earlier session."""
        self.client: Client | None = None
        self.status: int | None = None
        """The last HTTP status that its server answered with."""
        self.settled = asyncio.Event()
        """Set when the first attempt has come to an end, whatever it is."""
        self._closed, self._dirty = asyncio.Event(), asyncio.Event()
        self._wanted = asyncio.Event()
        self._begun = self._ended = self._callers = 0
        """How many attempts have begun and come to an end, and how many callers wait for one."""
        self._over = False
        self._why = ""

    def recall(self) -> None:
        """Offer what the server had the last time, until it says something else."""
        if self.shelf.entry_change() is not None:
            self.state, self.problem = (
                "changed",
                (
                    f"Its command or address in {self.server.source} has changed since you trusted the project. "
                    f"Look at it and approve it: pegboard mcp approve {self.server.name}"
                ),
            )
            return
        if listing := self.shelf.listing():
            self._take(listing)

    async def supervise(self, where: Where) -> None:
        """Keep the server running until this is cancelled."""
        if self.state == "changed":
            self._over = True
            self.settled.set()
            return
        failures = 0
        while True:
            began = time.monotonic()
            self._begun += 1
            try:
                await self._live(where)
            except ConfigError as error:
                self._over = True
                self._fail(str(error))
                return
            except Exception as error:
                self._fail(self._why or words_for(error, self.server, self.status))
            failures = 1 if time.monotonic() - began > SETTLED else failures + 1
            if self._callers:
                continue
            self._wanted = asyncio.Event()
            pause = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
            with anyio.move_on_after(pause if failures < MOST_FAILURES else None):
                await self._wanted.wait()

    async def ready(self) -> Client | None:
        """The client. One that is down gets a chance to come up: the attempt under way, or else the next one."""
        goal = self._begun + (self.state != "starting")
        self._callers += 1
        self._wanted.set()
        try:
            while self.client is None and self._ended < goal and not self._over:
                await self.settled.wait()
                if self.client is None and self._ended < goal and not self._over:
                    self.settled = asyncio.Event()
        finally:
            self._callers -= 1
        return self.client

    def lost(self, why: str) -> None:
        """Nothing more can come from the server."""
        self._why = self._why or why
        self._closed.set()

    def look_whether_it_lives(self) -> None:
        """A call has failed. The reason may be that the server is gone: that is known before a call fails for it."""
        if self._closed.is_set():
            self.problem = self._why or self.problem
            if self.client is not None:
                self.client, self.state = None, "lost"

    def mark_changed(self) -> None:
        """The server says that one of its lists is another one now."""
        self._dirty.set()

    def offers_still(self, seen: Definition) -> bool:
        """Whether the server lists a tool as it was when a person, a rule or the model looked at it."""
        now = next((one for one in self.definitions if one.tool == seen.tool), None)
        return now is not None and now.data == seen.data

    def approve(self, seen: Definition) -> None:
        """A person has seen this definition of a tool and let it run. Only what they saw is approved."""
        self.shelf.approve({seen.tool: seen.data})
        self._take(self.listing)

    async def _live(self, where: Where) -> None:
        self.state, self._why, self.status = "starting", "", None
        self._closed, self._dirty = asyncio.Event(), asyncio.Event()
        async with self._connected(where) as client:
            self.client, self.state, self.problem = client, "ready", ""
            self._settle()
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._follow, client)
                    tasks.start_soon(self._listen, client)
                    await self._closed.wait()
                    tasks.cancel_scope.cancel()
            finally:
                self.client = None
        raise ConnectionError(self._why)

    @asynccontextmanager
    async def _connected(self, where: Where) -> AsyncIterator[Client]:
        """The client once it has connected and listed. The time limit ends here, not with the connection."""
        from mcp import Client

        from pegboard_mcp.client_options import client_options
        from pegboard_mcp.transports import transport_to

        clock = anyio.CancelScope(deadline=anyio.current_time() + where.connect_timeout)
        done = False
        with clock:
            transport = transport_to(self, where)
            async with Client(transport, **client_options(self, where.callbacks)) as client:
                listing = await fetch(client)
                clock.deadline = float("inf")
                self._take(listing)
                self.shelf.keep_listing(listing)
                yield client
                done = True
        if clock.cancelled_caught and not done:
            raise SlowError(f"It did not answer within {where.connect_timeout:g} s.")

    async def _follow(self, client: Client) -> None:
        """List again after each change. A listing that fails leaves the last good one."""
        while True:
            await self._dirty.wait()
            await anyio.sleep(SETTLING)
            self._dirty = asyncio.Event()
            try:
                listing = await fetch(client)
            except Exception as error:
                self.problem = f"Listing its tools again failed: {words_for(error, self.server)}"
                log.warning("%s: %s", self.server.name, self.problem)
                continue
            self.problem = ""
            if listing != self.listing:
                self._take(listing)
                self.shelf.keep_listing(listing)

    async def _listen(self, client: Client) -> None:
        """Servers of 2026 tell changes only to those who listen; older ones tell the message handler anyway."""
        from mcp.client.subscriptions import ListenNotSupportedError

        pause = FIRST_PAUSE
        while True:
            try:
                async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                    pause = FIRST_PAUSE
                    async for _ in events:
                        self.mark_changed()
            except ListenNotSupportedError:
                return
            except Exception as error:
                log.debug("%s: cannot be notified of changes: %s", self.server.name, words_for(error, self.server))
                if pause > LONGEST_PAUSE:
                    return
            await anyio.sleep(pause)
            pause *= 2

    def _take(self, listing: Listing) -> None:
        definitions, refused = read_definitions(self.server, listing.tools, self.shelf)
        self.listing, self.definitions, self.refused, self.known = listing, definitions, refused, True
        self.version += 1

    def _fail(self, why: str) -> None:
        was, self.state, self.problem = self.state, "failed", why
        log.info("the MCP server %s: %s", self.server.name, why)
        if was == "starting":
            self._settle()

    def _settle(self) -> None:
        self._ended = self._begun
        self.settled.set()

    async def note_response(self, response: Any) -> None:
        """The server has answered over HTTP. The SDK does not say with which status."""
        self.status = response.status_code


class SlowError(Exception):
    """A server that took too long: it may do better the next time."""
