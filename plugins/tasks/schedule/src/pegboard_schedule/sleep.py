"""Wait without asking the model, until there is something to do."""

from __future__ import annotations

import time
from typing import Annotated

import anyio
from pydantic import BaseModel, Field

from pegboard import Context, Input, Tool, ToolError
from pegboard_schedule.alarm import SERVICE, Alarm, Woken

SIGN_OF_LIFE = 5.0
"""Seconds between two signs of life: a limit on idle calls must not end a sleep."""

WHY: dict[Woken, str] = {
    "time": "The time is over.",
    "news": "There is news: it follows.",
    "prompt": "The user has written: finish this turn, and the prompt comes.",
    "schedule": "A schedule is due: its prompt follows.",
}


class SleepInput(Input):
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """How long to sleep at most; the limit is 3600 unless settings say otherwise."""
    reason: Annotated[str, Field(max_length=200)] = ""
    """What you wait for, in a few words: the user sees it."""


class SleepOutput(BaseModel):
    """How long it was, and what ended it."""

    slept_seconds: float
    woken_by: Woken


class Sleep(Tool[SleepInput, SleepOutput]):
    """Wait without spending a turn. It ends early when there is news, which then follows its result.

    News is a background task that has ended, a line that Monitor has seen, a schedule that is due, or a prompt of the
    user that waits. Use it instead of `sleep` in Bash, and instead of asking again and again whether something is done.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "wait pause delay until background task timer"

    async def call(self, args: SleepInput, ctx: Context, /) -> SleepOutput:
        longest = ctx.settings.get("schedule.maxSleepSeconds")
        if args.seconds > longest:
            raise ToolError(f"seconds is {args.seconds:g}, and at most {longest} are allowed. Sleep again if need be.")
        began = time.monotonic()
        woken: Woken = "time"
        async with anyio.create_task_group() as group:
            group.start_soon(_show_life, args, ctx)
            alarm = ctx.services.others.get(SERVICE)
            if isinstance(alarm, Alarm):
                woken = await alarm.sleep(args.seconds)
            else:
                await anyio.sleep(args.seconds)
            group.cancel_scope.cancel()
        return SleepOutput(slept_seconds=round(time.monotonic() - began, 1), woken_by=woken)

    def content(self, value: SleepOutput, /) -> str:
        return f"Slept {value.slept_seconds:g} s. {WHY[value.woken_by]}"

    def describe(self, args: SleepInput, /) -> str:
        return f"Sleep up to {args.seconds:g} s{_for(args)}"

    def render_use(self, args: SleepInput, /) -> object | None:
        try:
            from rich.text import Text  # Only a terminal needs it, and not every host has it.
        except ImportError:
            return None
        return Text(self.describe(args))


def _for(args: SleepInput) -> str:
    return f": {' '.join(args.reason.split())}" if args.reason.strip() else ""


async def _show_life(args: SleepInput, ctx: Context) -> None:
    ends = time.monotonic() + args.seconds
    while True:
        ctx.report(f"asleep, at most {max(ends - time.monotonic(), 0):.0f} s left{_for(args)}")
        await anyio.sleep(SIGN_OF_LIFE)
