"""The transport to a server that we start: through the process service, so that sandbox, limits and cleanup hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from pegboard import ProcessSpec, ToolError
from pegboard.wording import shown
from pegboard_mcp.config import ConfigError, ServerConfig
from pegboard_mcp.definitions import NO_SCHEMA
from pegboard_mcp.guard import guarded
from pegboard_processes import OpenProcess, Processes

# Imports happen inside functions: the SDK takes a second to import, and only a connecting task needs it.

GRACE = 1.0
"""Seconds that a server has to end once its input is closed."""
MOST_MESSAGE = 32 * 1024 * 1024
MOST_STDERR = 10**15
"""Standard error is read and forgotten but for its end, so it may be as long as it likes."""


def process_spec(server: ServerConfig, folder: Path) -> ProcessSpec:
    """The process of a server; a `ConfigError` says what is missing."""
    program, env = server.text("command"), server.map("env")
    cwd = folder / server.text("cwd")
    if not cwd.is_dir():
        raise ConfigError(f"There is no folder {cwd} to start it in.")
    path = env.get("PATH", os.environ.get("PATH", os.defpath))
    if not shutil.which(program if os.sep not in program else str(cwd / program), path=path):
        raise ConfigError(f"The program {program} was not found. Install it, or correct the command.")
    argv = guarded(program, server.texts("args"))
    return ProcessSpec(argv, cwd, env=env, writable=(folder,), max_output_bytes=MOST_STDERR)


@asynccontextmanager
async def start(
    spec: ProcessSpec, processes: Processes, on_end: Callable[[str], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The two streams of a `mcp.Client`. `on_end` is told why nothing more can come."""
    async with processes.open(spec, grace=GRACE) as process, anyio.create_task_group() as tasks:
        to_client, read = anyio.create_memory_object_stream[Any](0)
        write, from_client = anyio.create_memory_object_stream[Any](0)
        tasks.start_soon(_receive, process, to_client, on_end)
        tasks.start_soon(_send, process, from_client)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (to_client, read, write, from_client):
                stream.close()


async def _receive(process: OpenProcess, to_client: Any, on_end: Callable[[str], None]) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter
    from pydantic import ValidationError

    why = ""
    async with to_client:
        try:
            async for line in process.lines(MOST_MESSAGE):
                if not line.strip():
                    continue
                try:
                    message: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line))
                    _spare(getattr(message.message, "result", None))
                except ValidationError as error:  # A server that prints to its standard output; others may follow.
                    message = error
                await to_client.send(message)
        except ToolError as error:
            why = error.message
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        on_end(why or await _ending(process))  # Before the client learns that there is nothing more to come.


def _spare(result: Any) -> None:
    """Put something in place of schemas that are none: the SDK would refuse the whole list for one of them."""
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        schema = tool.get("inputSchema") if isinstance(tool, dict) else {"type": "object"}
        if not isinstance(schema, dict) or schema.get("type") != "object":
            tool["inputSchema"] = {"type": "object", NO_SCHEMA: shown(schema)}


async def _ending(process: OpenProcess) -> str:
    with anyio.move_on_after(1):
        ended = await process.wait()
        how = f"with exit code {ended.code}" if ended.code is not None else f"by {ended.signal}"
        said = process.errors.strip()[-500:]
        return f"It ended {how}." + (f" It said: {said}" if said else "")
    return "It closed its output."


async def _send(process: OpenProcess, from_client: Any) -> None:
    async with from_client:
        async for message in from_client:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            try:
                await process.send(data + b"\n")
            except ToolError:
                return  # It is gone: the receiving side says so.
