"""The tasks extension: a server may answer a long call with a task, which is then asked about until it ends.

Imports the SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import ClientRequestContext
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import Field

from pegboard_mcp.errands import Errand, current

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Seconds between two questions, where the server does not say how often it wants to be asked."""
SHORTEST_PAUSE = 0.05
"""However often a server wants to be asked, this is the least."""


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class UpdateTask(types.Request[UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: UpdateParams
    name_param = "taskId"


class CancelTask(types.Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


class TaskStatus(types.Result):
    """What a server says about a task."""

    status: str = "working"
    status_message: str | None = Field(None, alias="statusMessage")
    poll_interval_ms: float | None = Field(None, alias="pollIntervalMs")
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskState(TaskStatus):
    """The answer to the question how a task is."""

    input_requests: dict[str, types.InputRequest] | None = Field(None, alias="inputRequests")


class TaskResult(TaskStatus):
    """The answer to a call that has become a task."""

    result_type: Literal["task"] = Field("task", alias="resultType")
    task_id: str = Field(alias="taskId")


class Tasks(ClientExtension):
    """Waits for tasks, so that a long call is a call that takes long."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The one shape that a call may be answered with besides a result."""
        return [ResultClaim(result_type="task", model=TaskResult, resolve=_resolve)]


async def _resolve(first: TaskResult, ctx: ClaimContext) -> types.CallToolResult:
    return await _Task(first, ctx).finished()


class _Task:
    """One call that has become a task."""

    def __init__(self, first: TaskResult, ctx: ClaimContext) -> None:
        self._session, self._state = ctx.session, first
        self._params = TaskParams(taskId=first.task_id)
        self._answered: set[str] = set()
        self._said: str | None = None

    async def finished(self) -> types.CallToolResult:
        """Wait for the end. A call that is cancelled cancels its task."""
        pause, state = FIRST_PAUSE, TaskState.model_validate(self._state.model_dump())
        try:
            while state.status in ("working", "submitted", "input_required"):
                self._tell(state)
                asked = state.poll_interval_ms
                await anyio.sleep(min(max(asked / 1000 if asked else pause, SHORTEST_PAUSE), LONGEST_PAUSE))
                pause = min(pause * 1.5, LONGEST_PAUSE)
                state = await self._session.send_request(GetTask(params=self._params), TaskState)
                await self._answer(state)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(1, shield=True):
                await self._session.send_request(CancelTask(params=self._params), types.EmptyResult)
            raise
        if state.status == "completed" and state.result is not None:
            return types.CallToolResult.model_validate(state.result)
        why = (state.error or {}).get("message") or state.status_message or f"The task is {state.status}."
        raise MCPError(code=-32000, message=str(why))

    async def _answer(self, state: TaskState) -> None:
        """Put what the task asks to the person or the model. A server may repeat a question until it has the answer."""
        asked = {key: one for key, one in (state.input_requests or {}).items() if key not in self._answered}
        if state.status != "input_required" or not asked:
            return
        responses: dict[str, Any] = {}
        for key, request in asked.items():
            context = ClientRequestContext(session=self._session, request_id=key, meta=None)
            said = await self._session.dispatch_input_request(context, request)
            if isinstance(said, types.ErrorData):
                raise MCPError.from_error_data(said)
            responses[key] = said.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._answered |= asked.keys()
        params = UpdateParams(taskId=self._params.task_id, inputResponses=responses)
        await self._session.send_request(UpdateTask(params=params), types.EmptyResult)

    def _tell(self, state: TaskState) -> None:
        """A task that says how it stands is shown as a sign of life."""
        errand: Errand | None = current.get()
        if errand and state.status_message and state.status_message != self._said:
            self._said = state.status_message
            errand.post((None, None, state.status_message))
