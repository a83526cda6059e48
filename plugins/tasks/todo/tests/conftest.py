"""What the contract suite needs to know about the tools for tasks: a call is about a task of its session."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool


def known_task(ctx: Context) -> dict[str, Any]:
    return {"taskId": ctx.service("tasks").add(subject="one").id}


def begun_task(ctx: Context) -> dict[str, Any]:
    return {**known_task(ctx), "status": "in_progress", "owner": "me"}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return {"TaskGet": [known_task], "TaskUpdate": [begun_task]}.get(tool.name)
