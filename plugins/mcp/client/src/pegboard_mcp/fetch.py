"""Ask a connected server what it has: tools and prompts page by page, and its instructions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pegboard_mcp.store import Listing

if TYPE_CHECKING:
    from mcp import Client


MOST_PAGES = 200
"""A server whose list never ends is cut off here."""
MOST_INSTRUCTIONS = 4_000
"""Characters of a server's instructions that reach the model."""
KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


async def fetch(client: Client) -> Listing:
    """Everything that the server lists, as plain data."""
    capabilities = client.server_capabilities
    tools = await _tools(client) if capabilities.tools is not None else []
    prompts = await _prompts(client) if capabilities.prompts is not None else []
    words = client.instructions or ""
    if len(words) > MOST_INSTRUCTIONS:
        words = f"{words[:MOST_INSTRUCTIONS]}… (cut: {len(words)} characters)"
    return Listing(tools, prompts, words, capabilities.resources is not None)


async def _tools(client: Client) -> list[dict[str, Any]]:
    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        got = await client.list_tools(cursor=cursor, cache_mode="refresh")
        return [_plain(tool) for tool in got.tools], got.next_cursor

    return [{key: tool[key] for key in KEPT if tool.get(key) is not None} for tool in await _pages(page)]


async def _prompts(client: Client) -> list[dict[str, Any]]:
    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        got = await client.list_prompts(cursor=cursor, cache_mode="refresh")
        return [_plain(prompt) for prompt in got.prompts], got.next_cursor

    found = await _pages(page)
    return [{key: one.get(key) for key in ("name", "title", "description", "arguments")} for one in found]


async def _pages(page: Callable[[str | None], Awaitable[tuple[list[Any], str | None]]]) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        items, cursor = await page(cursor)
        found += items
        if not cursor:
            break
    return found


def _plain(model: Any) -> dict[str, Any]:
    made: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    return made
