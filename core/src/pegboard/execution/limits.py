"""How many calls at once, how long each may take: from settings to what a turn needs."""

from __future__ import annotations

from typing import Any

from pegboard.contract import Tool
from pegboard.execution.seats import Limits
from pegboard.settings.layers import Settings


def turn_options(settings: Settings) -> dict[str, Any]:
    """The options of every turn of a session."""
    options: dict[str, Any] = {
        "cap": settings.get("maxToolConcurrency", 10),
        "cascade": settings.get("errorCascade", True),
        "eager": settings.get("eager", "safe"),
    }
    timeouts, idle = settings.get("timeouts", {}), settings.get("idleTimeouts", {})
    if timeouts or idle:
        options["limits"] = lambda tool: Limits(limit_for(tool, timeouts), limit_for(tool, idle))
    return options


def limit_for(tool: Tool[Any, Any], table: dict[str, float]) -> float | None:
    """The nearest entry: the tool, its family, everybody (`*`)."""
    for name in (tool.name, tool.family, "*"):
        if name in table:
            return table[name]
    return None
