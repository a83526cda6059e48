"""Run a command in a fresh shell."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import get_current_task
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pegboard import Ask, Change, Context, Decision, Facts, Input, Output, Tool, ToolError

if TYPE_CHECKING:
    from pegboard_bash.snapshot import Snapshot
    from pegboard_bash.understanding import Understanding

# Imports happen inside functions: listing tools must not load the parser and the table of programs.


class BashInput(Input):
    command: str
    """The command."""
    timeout: Annotated[int, Field(ge=1)] | None = None
    """Milliseconds until the command and everything it started are killed; default 120000, at most 600000."""
    description: str | None = None
    """What it does, in five to ten words."""
    run_in_background: bool = False
    """Start it and return at once with the id of a task. Nothing else that a command starts outlives the call."""
    dangerously_disable_sandbox: Annotated[bool, Field(alias="dangerouslyDisableSandbox")] = False
    """Ask to run outside the sandbox and without confinement. Only for a command that fails because of them."""
    workdir: Path | None = None
    """The folder to run in, for this command only. Default: where the last command ended."""
    tty: bool = False
    """With run_in_background: run it on a terminal, so that you can answer what it asks."""
    task_id: str | None = None
    """Type the command into this running task, which was started with tty. Returns what it answers."""
    enter: bool = True
    """With task_id: press Enter at the end. False for single keys: \\u0003 is Ctrl-C, \\u0004 ends the input."""


class BashOutput(BaseModel):
    """What a command did. Names are spelled as in `exitCode` wherever this becomes JSON."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True)

    stdout: str = ""
    """Output and errors, in the order in which they were written, cleaned and within the limit."""
    stderr: str = ""
    """Remarks of the tool."""
    exit_code: int | None = None
    signal: str = ""
    interrupted: bool = False
    timed_out_after_ms: int | None = None
    background_task_id: str | None = None
    return_code_interpretation: str | None = None
    persisted_output_path: Path | None = None
    """The file with the raw output, where the text is not all of it."""
    persisted_output_size: int | None = None
    stale_read_file_state_hint: str | None = None
    cwd_after: Path | None = None
    wall_ms: int = 0


class Bash(Tool[BashInput, BashOutput]):
    """Run a command with bash. Output and errors come back together, in the order in which they were written.

    Each command gets a fresh shell: variables, functions and jobs (`%1`) are gone afterwards, only the working
    directory is kept. Nothing that it starts outlives it; use run_in_background for servers and long work. There is no
    terminal, no pager and no input, so editors and prompts do not work; for a program that asks, use run_in_background
    with tty, and answer with task_id. A command that plainly only reads runs without a question: prefer literal words
    to variables and substitutions.
    """

    search_hint = "run shell command execute terminal"
    rule_subject = "command"
    rule_parameter = "command"
    requires_binaries = ("bash",)
    cascades = True
    # Longer output is cut before it gets here; the rest is room for remarks.
    max_result_chars = 40_000

    _latest: tuple[BashInput, Path, Understanding] | None = None
    _snapshot: Snapshot | None = None
    _typed_after: tuple[BashInput, str] | None = None
    """What was typed before the text that was decided on last."""

    def validate_input(self, args: BashInput, /) -> str | None:
        # The parser takes 60 ms to load; listing tools must not pay for it. So in every method below.
        from pegboard_bash.refusals import why_interactive
        from pegboard_bash.typed_input import why_wrong

        if "\0" in args.command:
            return (
                "The command contains a NUL character, which cannot be passed to a program. Write it as \\0 in printf."
            )
        return why_wrong(args) or (None if args.tty or args.task_id else why_interactive(args.command))

    def facts(self, args: BashInput, ctx: Context, /) -> Facts | Awaitable[Facts]:
        from pegboard_bash.understanding import asks_bash

        late = ctx.settings.get("bash.snapshot") or (any(map(asks_bash, _texts(args))) and _in_event_loop())
        return self._facts_later(args, ctx) if late else self._facts(args, ctx)

    async def _facts_later(self, args: BashInput, ctx: Context) -> Facts:
        from pegboard_bash.understanding import ask_bash

        if ctx.settings.get("bash.snapshot") and (self._snapshot is None or not self._snapshot.file.exists()):
            from pegboard_bash.snapshot import taken

            self._snapshot = await taken(ctx)
        for text in _texts(args):
            await ask_bash(text)
        return self._facts(args, ctx)

    def _facts(self, args: BashInput, ctx: Context) -> Facts:
        from pegboard_bash.confinement import held_to_reading
        from pegboard_bash.typed_input import facts_of
        from pegboard_bash.understanding import not_understood

        understood = self._understood(args, ctx)
        try:
            facts = held_to_reading(understood.facts, understood, args.dangerously_disable_sandbox, self, ctx)
        except Exception:
            understood = not_understood(args.command)
            facts = understood.facts
        self._latest = (args, ctx.cwd, understood)
        if args.task_id is not None:
            from pegboard_bash.typed_keys import unfinished

            self._typed_after = (args, unfinished(args.task_id))
            return facts_of(facts, args, ctx)
        if not args.run_in_background:
            return facts
        reason = facts.reason or "It continues in the background."
        return replace(facts, read_only=False, concurrency_safe=False, reason=reason)

    def check_permission(self, args: BashInput, ctx: Context, /) -> Decision | None:
        critical = self._judged(args, ctx).critical
        if not critical and args.task_id is not None:
            from pegboard_bash.typed_keys import why_unclear

            unclear = why_unclear(args)
            return Ask(unclear) if unclear else None
        if not critical:
            return None
        reason = f"Bash would delete {critical}, which may be everything if the variable is empty."
        return Ask(reason, layer="critical-path", matched=critical)

    async def call(self, args: BashInput, ctx: Context, /) -> BashOutput | Output[BashOutput]:
        from pegboard_bash.bash_call import BashCall
        from pegboard_bash.typed_input import type_into

        if args.task_id is not None:
            after = self._typed_after
            return await type_into(args, ctx, after[1] if after and after[0] is args else "")
        began = time.monotonic()
        try:
            value = await BashCall(args, ctx, self._judged(args, ctx), self, self._snapshot_for(ctx)).value()
        except ToolError as error:
            if isinstance(error.value, BashOutput):
                error.value.wall_ms = round((time.monotonic() - began) * 1000)
            raise
        value.wall_ms = round((time.monotonic() - began) * 1000)
        moved = value.cwd_after is not None and value.cwd_after != ctx.cwd
        return Output(value, change=Change(cwd=value.cwd_after)) if moved else value

    def _judged(self, args: BashInput, ctx: Context) -> Understanding:
        """What the decision on this very call was about, if no other call came in between."""
        latest = self._latest
        return latest[2] if latest and latest[0] is args and latest[1] == ctx.cwd else self._understood(args, ctx)

    def _understood(self, args: BashInput, ctx: Context) -> Understanding:
        from pegboard_bash.understanding import not_understood

        try:
            return self._looked_at(args, ctx)
        except Exception:
            return not_understood(args.command)

    def _looked_at(self, args: BashInput, ctx: Context) -> Understanding:
        from pegboard_bash.confinement import confinement
        from pegboard_bash.directory import start_of
        from pegboard_bash.recursion import withheld
        from pegboard_bash.understanding import understand

        confined = bool(confinement(ctx.settings))
        start = start_of(args.workdir, ctx)[0]
        texts = _texts(args)
        found = understand(texts[0], start, confined=confined)
        if len(texts) > 1:
            from pegboard_bash.typed_keys import merged

            found = merged([found, *(understand(text, start, confined=confined) for text in texts[1:])])
        if found.trees:
            found = replace(found, facts=withheld(found.facts, found.trees, self, ctx))
        snapshot = self._snapshot_for(ctx)
        return replace(found, facts=snapshot.applied(found.facts, found.programs)) if snapshot else found

    def _snapshot_for(self, ctx: Context) -> Snapshot | None:
        return self._snapshot if ctx.settings.get("bash.snapshot") else None

    def content(self, value: BashOutput, /) -> str:
        remarks = [value.stderr, value.stale_read_file_state_hint or ""]
        if value.return_code_interpretation:
            remarks.insert(0, f"(exit code {value.exit_code}: {value.return_code_interpretation})")
        said = value.stdout if value.stdout or any(remarks) else "(no output)"
        return "\n".join(part for part in (said, *remarks) if part)

    def user_facing_name(self, args: BashInput, /) -> str:
        if args.task_id is not None:
            return "Bash input"
        return "Bash in the background" if args.run_in_background else "Bash"

    def describe(self, args: BashInput, /) -> str:
        from pegboard_bash.render import one_line

        how = "Run in the background" if args.run_in_background else "Run"
        how += " on a terminal" if args.tty else ""
        if args.task_id is not None:
            how = f"Type into {args.task_id}"
        how += " outside the sandbox" if args.dangerously_disable_sandbox else ""
        where = f" (in {args.workdir})" if args.workdir else ""
        return one_line(f"{how}: {args.command}{where}")

    def preview(self, args: BashInput, ctx: Context, /) -> str | None:
        from pegboard_bash.render import one_line

        # The model's own description is shown with the rest of its input: here the host speaks.
        facts = self._understood(args, ctx).facts
        if args.task_id is not None:
            from pegboard_bash.typed_input import facts_of

            facts = facts_of(facts, args, ctx)
        lines = [facts.reason, *(f"writes {path}" for path in facts.writes)]
        lines += [f"deletes {path}" for path in facts.deletes]
        return "\n".join(one_line(line) for line in lines if line) or None

    def render_use(self, args: BashInput, /) -> object | None:
        from pegboard_bash.render import command

        return command(args.command, args.description or "")

    def render_result(self, value: BashOutput, /) -> object | None:
        from pegboard_bash.render import text

        return text(self.content(value))


def _texts(args: BashInput) -> list[str]:
    """What is judged: the command, or all that typing it may mean."""
    if args.task_id is None:
        return [args.command]
    from pegboard_bash.typed_keys import readings

    return readings(args)


def _in_event_loop() -> bool:
    """Whether blocking this thread would block an event loop."""
    try:
        get_current_task()
    except RuntimeError:
        return False
    return True
