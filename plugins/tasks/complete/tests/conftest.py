"""What the contract suite needs to know about task_complete: it is there only in a run that has to be completed."""

from __future__ import annotations

from typing import Any

from pegboard import Tool


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return [{"summary": "All tests pass."}] if tool.name == "task_complete" else None


def pytest_pegboard_settings(tool: Tool[Any, Any]) -> dict[str, Any] | None:
    return {"complete": {"required": True}} if tool.name == "task_complete" else None
