"""What the contract suite needs to know about Agent."""

from __future__ import annotations

from typing import Any

from pegboard import Tool


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    foreground = {"description": "say it", "prompt": "Say it.", "name": "ann"}
    background = {"description": "say it later", "prompt": "Say it.", "run_in_background": True}
    return [foreground, background] if tool.name == "Agent" else None
