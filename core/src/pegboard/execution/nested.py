"""A tool that calls another one: through the whole pipeline, like a call of the model."""

from __future__ import annotations

import secrets
from contextvars import ContextVar

from pegboard.calls import JSON, Call, Result
from pegboard.context import Context
from pegboard.errors import ToolError
from pegboard.execution.dispatch import Desk, dispatch

DEEPEST = 5
"""How many calls may stand inside one another: a tool that calls itself must come to an end."""

_depth: ContextVar[int] = ContextVar("depth of nested calls", default=0)


async def dispatch_nested(name: str, input: JSON, ctx: Context, desk: Desk) -> Result:
    """Handle a call that a tool makes, with the tools and the permission of whoever called that tool."""
    if _depth.get() >= DEEPEST:
        raise ToolError(f"{name} was not called: calls are nested at most {DEEPEST} deep.", code="unsupported")
    token = _depth.set(_depth.get() + 1)
    try:
        return await dispatch(Call(f"nested-{secrets.token_hex(4)}", name, input), ctx, desk)
    finally:
        _depth.reset(token)
