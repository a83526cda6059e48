"""MCP over standard input and output. Nothing but the protocol reaches the client's pipe."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

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

    async def read(
        self, to_server: MemoryObjectSendStream[SessionMessage], to_client: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        """Hand each message to the server until the client closes its end. What is none gets an answer right away."""
        rest = bytearray()
        async with to_server, to_client:
            while chunk := await self._receive():
                rest += chunk
                if b"\n" in chunk:
                    *lines, rest = rest.split(b"\n")
                    for line in filter(bytes.strip, map(bytes, lines)):
                        await _hand_on(line, to_server, to_client)
                if len(rest) > LONGEST:
                    sys.stderr.write(
                        f"pegboard: the client sent a message of more than {LONGEST} bytes, so it is left\n"
                    )
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


async def _hand_on(
    line: bytes, to_server: MemoryObjectSendStream[SessionMessage], to_client: MemoryObjectSendStream[SessionMessage]
) -> None:
    try:
        await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False)))
    except ValidationError:
        if (answer := _complaint(line)) is not None:
            await to_client.send(SessionMessage(answer))


def _complaint(line: bytes) -> types.JSONRPCError | None:
    """The answer to what is no message: without one its sender would wait forever. A wrong notice gets none."""
    try:
        sent = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "This is not valid JSON. Send one message per line, in UTF-8.")
    number = sent.get("id") if isinstance(sent, dict) else None
    if isinstance(sent, dict) and not ("method" in sent and "id" in sent):
        return None
    words = "This is not a valid request. Batches and halves of characters are not supported."
    asked = number if isinstance(number, int) or (isinstance(number, str) and number.isprintable()) else None
    return _error(None if isinstance(number, bool) else asked, types.INVALID_REQUEST, words)


def _error(number: int | str | None, code: int, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=words))


async def serve_stdio(server: PoolServer) -> None:
    """Serve one client until it closes its end."""
    wire = Wire()
    to_server, reads = anyio.create_memory_object_stream[SessionMessage](0)
    writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(wire.read, to_server, writes.clone())
        group.start_soon(wire.write, from_server)
        await server.run(reads, writes, server.create_initialization_options())
        group.cancel_scope.cancel()
