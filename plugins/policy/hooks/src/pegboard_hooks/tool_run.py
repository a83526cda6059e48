"""Handlers of type `mcp_tool`: a tool of a connected server is called, and its text is read like a command's output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import anyio

from pegboard import Context, ToolError
from pegboard_hooks.handler_run import Firing, HandlerRun, inside
from pegboard_hooks.handlers import Handler

FIELD = re.compile(r"\$\{([A-Za-z0-9_.-]+)\}")


async def run_tool(handler: Handler, firing: Firing, ctx: Context) -> HandlerRun:
    """Call the tool through the whole pipeline, so that rules apply to it; its own call starts no such handler."""
    if inside.get():
        return HandlerRun(0)
    name = f"mcp__{handler.given['server']}__{handler.given['tool']}"
    token = inside.set("mcp_tool")
    try:
        with anyio.fail_after(handler.timeout):
            result = await ctx.call(name, _filled(handler.given.get("input", {}), firing.payload))
    except TimeoutError:
        return HandlerRun(problem=f"{name} did not answer within {handler.timeout:g} s.")
    except ToolError as error:
        return HandlerRun(unable=error.message)
    finally:
        inside.reset(token)
    if result.code == "not_found":
        return HandlerRun(unable=f"There is no tool {name}: the server {handler.given['server']!r} is not connected.")
    if result.is_error:
        return HandlerRun(problem=f"{name} failed: {result.text[:200]}")
    return HandlerRun(0, result.text.encode("utf-8", "replace"))


def _filled(value: Any, payload: Mapping[str, Any]) -> Any:
    """The input with `${tool_input.file_path}` and the like replaced by the event's fields."""
    if isinstance(value, Mapping):
        return {name: _filled(item, payload) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, payload) for item in value]
    return FIELD.sub(lambda found: _field(found[1], payload), value) if isinstance(value, str) else value


def _field(path: str, payload: Mapping[str, Any]) -> str:
    found: Any = payload
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
