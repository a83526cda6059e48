"""MCP over standard input and output. Nothing but the protocol reaches the client's pipe."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from pegboard_mcp_server.server import PoolServer

CHUNK = 4096
"""What a pipe that is ready takes without blocking."""
LONGEST = 64 * 1024 * 1024
"""Bytes of one message. A client that sends a longer one has lost its way and is left."""


class Wire:
    """The pipe to the client, on descriptors that tools and their processes do not know.

    The standard ones lead elsewhere meanwhile: what a tool prints goes to standard error, what it reads is empty.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._reads = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
        self._writes = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    async def read(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand each message to the server until the client closes its end."""
        rest = b""
        async with to_server:
            while chunk := await self._receive():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        await to_server.send(_message(line))
                if len(rest) > LONGEST:
                    return

    async def write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send each message. When the client has gone there is no one to tell."""
        async with from_server:
            async for message in from_server:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await self._send(data)
                except OSError:
                    return

    async def _receive(self) -> bytes:
        await _ready(anyio.wait_readable, self._reads)
        return os.read(self._reads, 65_536)

    async def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            await _ready(anyio.wait_writable, self._writes)
            view = view[os.write(self._writes, view[:CHUNK]) :]


async def _ready(wait: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    try:
        await wait(descriptor)
    except PermissionError:  # A file: it is always ready, and cannot be waited for.
        await anyio.lowlevel.checkpoint()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except Exception as error:
        return error


async def serve_stdio(server: PoolServer) -> None:
    """Serve one client until it closes its end."""
    wire = Wire()
    to_server, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(wire.read, to_server)
        group.start_soon(wire.write, from_server)
        await server.run(reads, writes, server.create_initialization_options())
        group.cancel_scope.cancel()
