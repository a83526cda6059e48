"""What the contract suite needs to know about dialogs: a plan is approved in the mode plan only."""

from __future__ import annotations

from typing import Any

from pegboard import Tool

QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "Postgres", "description": "A server."}, {"label": "SQLite", "description": "A file."}],
}
EXAMPLES: dict[str, list[Any]] = {
    "AskUserQuestion": [{"questions": [QUESTION]}],
    "ExitPlanMode": [{"plan": "1. Read the code.\n2. Change it."}],
    "Config": [{"action": "list"}, {"action": "get", "setting": "maxTurns"}, {"action": "list", "setting": "bash"}],
}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return EXAMPLES.get(tool.name)


def pytest_pegboard_settings(tool: Tool[Any, Any]) -> dict[str, Any] | None:
    return {"permissions": {"defaultMode": "plan"}} if tool.name == "ExitPlanMode" else None
