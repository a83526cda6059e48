"""Type into a background command that runs on a terminal.

What is typed may be run by whatever reads it, so it is judged like a command, and never as one that only reads: which
program reads it, and what its words mean there, no one can say from here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from pegboard import Context, Facts, Part, ToolError
from pegboard_bash import bash
from pegboard_bash.typed_keys import remember, unfinished
from pegboard_files import plain_text
from pegboard_processes import Task
from pegboard_processes.terminal import LINE

if TYPE_CHECKING:
    from pegboard_bash.bash import BashInput, BashOutput

PATIENCE = 10.0
"""Seconds that a command has to read what is typed."""
ANSWER, QUIET, LOOK = 2.0, 0.25, 0.02
"""Seconds to wait for an answer, after which silence it counts as whole, and between two looks."""
AT_ONCE = 1024
SHOWN_BYTES = 30_000


def why_wrong(args: BashInput) -> str | None:
    """What does not fit together in an input about terminals, as a sentence."""
    if args.task_id is None:
        if args.tty and not args.run_in_background:
            return "tty needs run_in_background: true. Then type into it with task_id."
        return None if args.enter else "enter is only for a command that is typed into a running one with task_id."
    others = ("run_in_background", "tty", "workdir", "dangerously_disable_sandbox")
    given = [name for name in others if getattr(args, name)]
    if given:
        return f"task_id types into a command that is already running. Leave out {', '.join(given)}."
    longest = max(len(line.encode("utf-8", "replace")) for line in re.split("[\r\n]", args.command))
    if longest > LINE:
        return f"A line has {longest:,} bytes; a terminal takes {LINE:,}. Use a file for more."
    return None


def facts_of(facts: Facts, args: BashInput, ctx: Context) -> Facts:
    """The facts of a command as those of typing it: rules that restrict see all of it, no other rule covers it."""
    task = ctx.services.background.get(args.task_id or "") if ctx.services.background else None
    into = f"{args.task_id} ({task.name})" if task else f"{args.task_id}"
    texts = dict.fromkeys((args.command, *(text for part in facts.parts for text in (part.text, *part.also))))
    return replace(
        facts,
        read_only=False,
        concurrency_safe=False,
        open_world=True,
        parts=(Part(f"(typed into {into}) {args.command}", tuple(texts), exact=True),),
        reason=f"It is typed into {into}, which may run it.",
        confinement="",
    )


async def type_into(args: BashInput, ctx: Context, after: str) -> BashOutput:
    """Type, and return what the command writes then. `after` is the unfinished line that the decision knew of."""
    task = _task(args.task_id or "", ctx)
    if unfinished(task.id) not in ("", after):
        what = f"Something else was typed into {task.id} since this was decided, and nothing of this was typed."
        raise ToolError(f"{what} Call again.", code="failed", remedy="")
    before = ctx.background.read(task.id, 0, 0).size
    # A terminal's Enter is a carriage return; where a program reads lines, the kernel makes a line feed of it.
    text = args.command.replace("\r\n", "\n").replace("\n", "\r") + ("\r" if args.enter else "")
    await _send(task, text.encode("utf-8", "replace"), ctx)
    await _wait_for_answer(task, before, (args.timeout or ANSWER * 1000) / 1000, ctx)
    page = ctx.background.read(task.id, before, SHOWN_BYTES)
    state = (ctx.background.get(task.id) or task).state
    remark = f"{task.id} is {state}. TaskOutput with offset={page.next_offset} reads what comes next."
    return bash.BashOutput(
        stdout=plain_text(page.text).strip("\n"), stderr=remark, background_task_id=task.id, cwd_after=ctx.cwd
    )


def _task(task_id: str, ctx: Context) -> Task:
    task = ctx.background.get(task_id)
    if task is None or not task.tty or task.state != "running":
        open_ones = [each.id for each in ctx.background.tasks() if each.tty and each.state == "running"]
        if task is None:
            what = f"There is no task {task_id!r}."
        else:
            what = f"{task_id} is not running: it is {task.state}." if task.tty else f"{task_id} has no terminal."
        known = f"These take input: {', '.join(open_ones)}." if open_ones else "No task takes input."
        advice = "Start a command with run_in_background: true and tty: true to type into it."
        raise ToolError(f"{what} {known} {advice}", code="not_found" if task is None else "no_match", remedy="")
    return task


async def _send(task: Task, data: bytes, ctx: Context) -> None:
    sent = 0
    try:
        with anyio.move_on_after(PATIENCE):
            while sent < len(data):
                taken = await ctx.background.send(task.id, data[sent : sent + AT_ONCE])
                if not taken:
                    break
                sent += taken
    finally:
        remember(task.id, data.decode(), whole=sent == len(data))
    if sent < len(data):
        what = f"{task.id} took {sent:,} of {len(data):,} bytes and does not read the rest, which was not sent."
        raise ToolError(what, code="timeout", remedy="")


async def _wait_for_answer(task: Task, before: int, seconds: float, ctx: Context) -> None:
    """Wait until the command has written something and fallen quiet, or has ended."""
    size, quiet = before, 0.0
    with anyio.move_on_after(seconds):
        while quiet < QUIET:
            await anyio.sleep(LOOK)
            found = ctx.background.get(task.id)
            if found is None or found.state != "running":
                return
            now = ctx.background.read(task.id, size, 0).size
            # Not before it has written: a program that thinks for a moment has not answered yet.
            quiet = quiet + LOOK if now == size and now > before else 0.0
            size = now
