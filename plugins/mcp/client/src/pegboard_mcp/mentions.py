"""Resources that a prompt mentions as `@server:uri`: the model reads them with the prompt."""

from __future__ import annotations

import re

from pegboard import Context, Text, ToolError
from pegboard_mcp.hub import Hub
from pegboard_mcp.resources import read_resource
from pegboard_session import Prompted

MENTION = re.compile(r"(?<![\w@])@([A-Za-z0-9_.-]+):([^\s<>\"']+)")
MOST_MENTIONS = 10
MOST_CHARACTERS = 100_000


async def mentioned(prompt: str, hub: Hub, ctx: Context) -> Prompted | None:
    """The text of every resource that is mentioned; a mention that names no server is left alone."""
    wanted = [(name, uri.rstrip(".,;!?)")) for name, uri in MENTION.findall(prompt) if name in hub.connections]
    texts = [await _text(name, uri, hub, ctx) for name, uri in dict.fromkeys(wanted[:MOST_MENTIONS])]
    return Prompted(context="\n\n".join(texts)) if texts else None


async def _text(name: str, uri: str, hub: Hub, ctx: Context) -> str:
    try:
        value = await read_resource(hub, hub.connections[name], uri, ctx)
    except ToolError as error:
        return f"The resource {uri} of the MCP server {name} cannot be read: {error.message}"
    words = "\n".join(block.text if isinstance(block, Text) else f"[{block.media_type}]" for block in value.blocks)
    if len(words) > MOST_CHARACTERS:
        words = f"{words[:MOST_CHARACTERS]}… (cut: {len(words)} characters)"
    return framed(name, uri, words)


def framed(server: str, uri: str, words: str) -> str:
    """A resource in its frame. It cannot pose as its end: what follows would read like the person's own words."""
    plain = re.sub(r"<(?=\s*/?\s*resource)", "&lt;", words, flags=re.IGNORECASE)
    return f'<resource server="{server}" uri="{uri}">\n{plain}\n</resource>'
