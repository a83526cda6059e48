"""The pool as MCP tools: schemas as they are, and hints that never promise more than a tool declares."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from pegboard import Board, Entry

PAGE = 500
"""How many tools a page has. Most servers have one page."""
ABOUT_OTHER_THINGS = frozenset({"host", "name", "namespaced", "parameter"})
"""What permission rules of a tool are about when it has nothing to do with folders."""


def page_of_tools(board: Board, cursor: str | None) -> types.ListToolsResult:
    """One page of the pool, in pool order."""
    definitions = board.definitions()
    start = int(cursor) if cursor and cursor.isascii() and cursor.isdecimal() else 0
    if cursor is not None and not 0 < start < len(definitions):
        raise MCPError(types.INVALID_PARAMS, "This cursor is not valid. List the tools from the beginning.")
    tools = [_tool(definition, board) for definition in definitions[start : start + PAGE]]
    more = str(start + PAGE) if start + PAGE < len(definitions) else None
    return types.ListToolsResult(tools=tools, next_cursor=more)


def schema_of(board: Board, name: str) -> dict[str, Any] | None:
    """The input schema of one tool, for the protocol library's check of headers."""
    found = board.pool.get(name)
    definitions = board.definitions() if found else ()
    return next((made["input_schema"] for made in definitions if found and made["name"] == found.name), None)


def needs_roots(entry: Entry) -> bool:
    """Whether the folders of the client can matter to calls of this tool."""
    return entry.record["rule_subject"] not in ABOUT_OTHER_THINGS


def _tool(definition: dict[str, Any], board: Board) -> types.Tool:
    entry = board.pool.get(definition["name"])
    return types.Tool.model_validate(
        {
            "name": definition["name"],
            "description": definition["description"],
            "inputSchema": definition["input_schema"],
            "annotations": _hints(entry) if entry else None,
        }
    )


def _hints(entry: Entry) -> dict[str, bool]:
    """What holds for every call to the tool. One that may change something may also overwrite it."""
    record = entry.record
    reads = record["read_only"] and not record["destructive"]
    return {
        "readOnlyHint": reads,
        "destructiveHint": not reads,
        "idempotentHint": reads,
        "openWorldHint": record["open_world"],
    }
