"""The way to a server: a process that we start, streamable HTTP, or the older SSE."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from pegboard import ProcessSpec
from pegboard_mcp.config import ConfigError, ServerConfig
from pegboard_mcp.stdio import MOST_MESSAGE, process_spec, start

if TYPE_CHECKING:
    from pegboard_mcp.connection import Connection, Where

# Imports happen inside functions: the SDK takes a second to import, and only a connecting task needs it.

HELPER_TIMEOUT = 10.0
HELPER_BYTES = 100_000


def transport_to(connection: Connection, where: Where) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    """What a `mcp.Client` enters. A `ConfigError` says what is wrong with the entry."""
    server = connection.server
    if server.kind == "stdio":
        spec = process_spec(server, where.folder)
        return start(spec, where.processes, connection.lost)
    return _remote(connection, where)


@asynccontextmanager
async def _remote(connection: Connection, where: Where) -> AsyncIterator[tuple[Any, Any]]:
    import httpx2
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    from pegboard_mcp.http_body import limited
    from pegboard_mcp.oauth import auth_for

    server = connection.server
    url, headers = server.text("url"), await headers_of(server, where)
    auth = auth_for(server, url, server.env, where.callbacks.open_address)
    if server.kind == "sse":
        async with sse_client(url, headers=headers, auth=auth) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(30, read=300)
    watch = {"response": [connection.note_response, limited(connection.lost)]}
    # A small body that unpacks to a large one could not be limited before it is unpacked.
    asked = {**headers, "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(headers=asked, auth=auth, timeout=timeout, event_hooks=watch) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MOST_MESSAGE) as streams,
    ):
        yield streams


async def headers_of(server: ServerConfig, where: Where) -> dict[str, str]:
    """The headers of the entry, and above them those that its helper prints as a JSON object."""
    headers = server.map("headers")
    helper = server.text("headersHelper")
    if not helper:
        return headers
    printed = bytearray()
    env = {"MCP_SERVER_NAME": server.name, "MCP_SERVER_URL": server.text("url")}
    spec = ProcessSpec(
        ("/bin/sh", "-c", helper),
        where.folder,
        env=env,
        timeout=HELPER_TIMEOUT,
        max_output_bytes=HELPER_BYTES,
        keep_output=False,
    )
    ended = await where.processes.run(spec, on_output=printed.extend, on_error=lambda _: None)
    if ended.code != 0:
        raise ConfigError(f"Its headersHelper failed with exit code {ended.code}.")
    try:
        found = json.loads(printed)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ConfigError("Its headersHelper must print a JSON object with string values.")
    return {**headers, **found}
