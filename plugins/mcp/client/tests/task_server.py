"""A server of the official SDK whose calls become tasks. Its argument is a file in which it notes what it is asked."""

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import Field

NOTHING = {"type": "object", "properties": {}}
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
TOOLS = ["slow", "broken", "forever", "asks"]
tasks: dict[str, dict[str, Any]] = {}


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


def note(words: str) -> None:
    with open(sys.argv[1], "a") as file:
        file.write(f"{words}\n")


async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=NOTHING) for name in TOOLS])


async def on_call(ctx: Any, params: Any) -> Any:
    key = f"task-{len(tasks)}"
    tasks[key] = {"name": params.name, "asked": 0, "said": None}
    note(f"began {params.name}")
    return {"resultType": "task", "taskId": key, "status": "working", "pollIntervalMs": 1, "ttlMs": None}


async def on_get(ctx: Any, params: TaskParams) -> Any:
    task = tasks.get(params.task_id)
    if task is None:
        raise MCPError(types.INVALID_PARAMS, "There is no such task.")
    task["asked"] += 1
    note(f"asked about {task['name']}")
    state = {"resultType": "complete", "taskId": params.task_id, "pollIntervalMs": 1, "ttlMs": None}
    if task["name"] == "broken" and task["asked"] > 1:
        return {**state, "status": "failed", "error": {"code": -32603, "message": "The disk is full."}}
    if task["name"] == "asks" and task["said"] is None:
        form = types.ElicitRequestFormParams(message="Which colour?", requested_schema=FORM)
        request = types.ElicitRequest(params=form).model_dump(by_alias=True, mode="json", exclude_none=True)
        return {**state, "status": "input_required", "inputRequests": {"q": request}}
    if (task["name"] == "slow" and task["asked"] > 2) or task["said"] is not None:
        words = f"done {task['said']}" if task["said"] else "done"
        return {**state, "status": "completed", "result": {"content": [{"type": "text", "text": words}]}}
    return {**state, "status": "working", "statusMessage": f"step {task['asked']}"}


async def on_update(ctx: Any, params: UpdateParams) -> Any:
    answer = params.input_responses["q"]
    tasks[params.task_id]["said"] = f"{answer['action']} {answer.get('content')}"
    note("was answered")
    return types.EmptyResult()


async def on_cancel(ctx: Any, params: TaskParams) -> Any:
    note(f"cancelled {tasks[params.task_id]['name']}")
    return types.EmptyResult()


server = Server("tasks", version="1", on_list_tools=on_list, on_call_tool=on_call)
server.extensions = {"io.modelcontextprotocol/tasks": {}}
server.add_request_handler("tasks/get", TaskParams, on_get)
server.add_request_handler("tasks/update", UpdateParams, on_update)
server.add_request_handler("tasks/cancel", TaskParams, on_cancel)


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
