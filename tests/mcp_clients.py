"""The official client, connected to a server of `mcp_serving`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.mcp_serving import TOKEN, World


@asynccontextmanager
async def over_http(url: str, mode: str, token: str = TOKEN, **callbacks: Any) -> AsyncIterator[Client]:
    """A client of the newer protocol (`auto`) or the older one (`legacy`)."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None, **callbacks) as client,  # type: ignore[arg-type]
    ):
        yield client


@asynccontextmanager
async def over_pipes(world: World, mode: str, *words: str, **callbacks: Any) -> AsyncIterator[Client]:
    """The same, with a server of its own."""
    command, *arguments = world.command(*words)
    started = StdioServerParameters(command=command, args=arguments, env=world.env)
    async with Client(started, mode=mode, cache=None, **callbacks) as client:  # type: ignore[arg-type]
        yield client


def text_of(result: Any) -> str:
    """All text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")
