"""The hooks of Monitor."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool, hookimpl

PREFIX = "Monitor: "
"""How the names of its background tasks begin."""


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    from pegboard_monitor.monitor import Monitor  # Every session loads these hooks, and few use the tool.

    return [Monitor()]


@hookimpl
def after_compact(ctx: Context) -> str | None:
    """The results that named the monitors are no longer in the conversation."""
    tasks = ctx.services.background.tasks() if ctx.services.background else ()
    rows = [f"{task.id}  {task.name}" for task in tasks if task.name.startswith(PREFIX) and task.state == "running"]
    return "These monitors are running:\n" + "\n".join(rows) if rows else None
