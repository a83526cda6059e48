"""Say that the task is done, and end the run."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pegboard import Context, Input, Output, Tool, ToolError
from pegboard_complete.plugin import SERVICE, SETTING
from pegboard_session import finished


class TaskCompleteInput(Input):
    summary: str = Field(min_length=1, max_length=20_000)
    """What was done, what was checked, what is left open and what you decided yourself: the user reads only this."""


class TaskCompleteOutput(BaseModel):
    """What is left of the run."""

    summary: str


class TaskComplete(Tool[TaskCompleteInput, TaskCompleteOutput]):
    """End this run because the task is done. Call it alone, when everything is finished and checked.

    Nothing runs after it. Do not call it to ask something, or while work is left that you can do.
    """

    name = "task_complete"
    read_only = True
    open_world = False
    subagents = False
    pinned = True
    requires_setting = SETTING
    search_hint = "finish end unattended run done"
    guidance = (
        "You work without a person: no one reads along or answers. Go on until the task is done, decide yourself what "
        "is left open, and then call task_complete with a summary. Only that ends the run."
    )

    def validate_input(self, args: TaskCompleteInput, /) -> str | None:
        return None if args.summary.strip() else "summary is empty. Say what was done."

    async def call(self, args: TaskCompleteInput, ctx: Context, /) -> Output[TaskCompleteOutput]:
        if SERVICE not in ctx.services.others:
            raise ToolError("Only a run that goes on until it is completed can be completed.", code="unsupported")
        return Output(TaskCompleteOutput(summary=args.summary), metadata=finished(args.summary))

    def content(self, value: TaskCompleteOutput, /) -> str:
        return "The run ends here."

    def describe(self, args: TaskCompleteInput, /) -> str:
        return "End the run: the task is complete"

    def render_use(self, args: TaskCompleteInput, /) -> object | None:
        try:
            from rich.text import Text  # Only a terminal needs it, and not every host has it.
        except ImportError:
            return None
        return Text(self.describe(args))
