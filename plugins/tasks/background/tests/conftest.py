"""What the contract suite needs to know about the tools for tasks: a call is about a task of its session."""

from __future__ import annotations

from typing import Any

import anyio

from pegboard import Context, Tool


def running_task(ctx: Context) -> dict[str, Any]:
    return {"task_id": ctx.background.start("wait", anyio.sleep_forever).id}


async def ended_task(ctx: Context) -> dict[str, Any]:
    async def say() -> str:
        return "alpha"

    task = ctx.background.start("say", say)
    await ctx.background.wait(task.id)
    return {"task_id": task.id, "wait_ms": 10}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    examples: dict[str, list[Any]] = {"TaskOutput": [{}, running_task, ended_task], "TaskStop": [running_task]}
    return examples.get(tool.name)
