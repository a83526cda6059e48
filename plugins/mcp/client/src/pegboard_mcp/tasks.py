"""The tasks extension: a server may answer a long call with a task, which is then asked about until it ends.

Imports the SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import Field

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Seconds between two questions, where the server does not say how often it wants to be asked."""


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class CancelTask(types.Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


class TaskState(types.Result):
    """What a server says about a task."""

    status: str = "working"
    status_message: str | None = Field(None, alias="statusMessage")
    poll_interval_ms: float | None = Field(None, alias="pollIntervalMs")
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskResult(TaskState):
    """The answer to a call that has become a task."""

    result_type: Literal["task"] = Field("task", alias="resultType")
    task_id: str = Field(alias="taskId")


class Tasks(ClientExtension):
    """Waits for tasks, so that a long call is a call that takes long."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The one shape that a call may be answered with besides a result."""
        return [ResultClaim(result_type="task", model=TaskResult, resolve=_finished)]


async def _finished(first: TaskResult, ctx: ClaimContext) -> types.CallToolResult:
    params, pause = TaskParams(taskId=first.task_id), FIRST_PAUSE
    state: TaskState = first
    try:
        while state.status in ("working", "submitted"):
            asked = state.poll_interval_ms
            await anyio.sleep(min(asked / 1000 if asked else pause, LONGEST_PAUSE))
            pause = min(pause * 1.5, LONGEST_PAUSE)
            state = await ctx.session.send_request(GetTask(params=params), TaskState)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(1, shield=True):
            await ctx.session.send_request(CancelTask(params=params), types.EmptyResult)
        raise
    if state.status == "completed" and state.result is not None:
        return types.CallToolResult.model_validate(state.result)
    why = (state.error or {}).get("message") or state.status_message or f"The task is {state.status}."
    raise MCPError(code=-32000, message=str(why))
