"""One call of Bash: what it needs from settings before it runs, and what it reports afterwards."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import Change, Context, ProcessSpec, ToolError
from pegboard_bash import bash
from pegboard_bash.call_limits import default_timeout_ms, longest_timeout_ms, shown_chars
from pegboard_bash.codes import ending, interpretation
from pegboard_bash.confinement import HELD, Confined, confine, may_be_held_back, runs_as_reader, with_limits
from pegboard_bash.directory import Followed, followed, next_start, roots, start_of
from pegboard_bash.output import ON_FAILURE, PREVIEW, Shown, shown
from pegboard_bash.refusals import SLEPT, may_go_on_in_background, sleeps_long
from pegboard_bash.repository import git_environment
from pegboard_bash.run import TimeLimits, run, specification, start
from pegboard_bash.shape import shape_of
from pegboard_bash.shell_variables import shell_variables
from pegboard_bash.shown_file import note_view
from pegboard_processes import ProcessExit, Task
from pegboard_processes.memory import kills_for_memory

if TYPE_CHECKING:
    from pegboard_bash.bash import Bash, BashInput, BashOutput
    from pegboard_bash.snapshot import Snapshot
    from pegboard_bash.understanding import Understanding

QUIET_ENVIRONMENT = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "npm_config_update_notifier": "false",
}
"""For commands that only read: what programs would otherwise look up in the network, or write, on the side."""
STAYED = "The command still ran in the sandbox: sandbox.allowUnsandboxedCommands is not set."


class BashCall:
    """A call, with what is known of it."""

    def __init__(
        self,
        args: BashInput,
        ctx: Context,
        understood: Understanding,
        tool: Bash,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.args, self.ctx, self.understood, self.snapshot = args, ctx, understood, snapshot
        self.tool = tool
        self.confined: Confined | None = None
        self.start, remark = start_of(args.workdir, ctx)
        self.remarks = [remark] if remark else []
        if args.dangerously_disable_sandbox and _is_held(ctx):
            self.remarks.append(STAYED)
        self.limits = self._limits()

    async def value(self) -> BashOutput:
        """What the command did; a `ToolError` when it failed."""
        if runs_as_reader(self.ctx):
            self.confined = confine(self.understood, self.tool, self.ctx)
        try:
            return await self._value()
        finally:
            if self.confined:
                self.confined.call_is_over()

    async def _value(self) -> BashOutput:
        args, ctx = self.args, self.ctx
        if args.run_in_background:
            task = await start(self._specification(None), args.command, ctx)
            return self._going_on(task, f"It runs in the background as {task.id}.")
        carries = args.workdir is None and ctx.agent.depth == 0 and ctx.settings.get("bash.keepDirectory")
        kills = kills_for_memory()
        private = self.confined.folder if self.confined else None
        with followed(args.command, carries, ctx, self.snapshot, private) as trail:
            ended = await run(self._specification(trail), self.limits, args.command, ctx)
            told = trail.told() if trail else None
        if isinstance(ended, Task):
            remark = f"It did not finish in {self.limits.seconds:g} s and continues in the background as {ended.id}."
            value = self._going_on(ended, remark)
            value.timed_out_after_ms = round(self.limits.seconds * 1000)
            return value
        # A folder that is gone is everybody's concern; where a shell went only concerns those who carry it.
        cwd, remark = next_start(told, self.start, ctx) if carries else (None, "")
        return self._ended(ended, cwd, remark, kills)

    def _limits(self) -> TimeLimits:
        settings, args = self.ctx.settings, self.args
        usual, longest = default_timeout_ms(settings), longest_timeout_ms(settings)
        if args.timeout and args.timeout > longest:
            self.remarks.append(f"timeout was {args.timeout}; the maximum of {longest} was used.")
        goes_on = (
            settings.get("bash.onTimeout") == "background"
            and self.ctx.services.background is not None
            and may_go_on_in_background(args.command)
        )
        return TimeLimits(min(args.timeout or usual, longest) / 1000, goes_on)

    def _specification(self, trail: Followed | None) -> ProcessSpec:
        only_reads = self.understood.facts.read_only
        env = shell_variables(self.ctx, only_reads=only_reads)
        # The user's own start file is not among what a confined command can read.
        env |= {"BASH_ENV": ""} if self.confined else {}
        if only_reads:  # Whatever the command is: git may be behind any wrapper.
            env |= git_environment() | QUIET_ENVIRONMENT
        if self.snapshot:
            env["BASH_ENV"] = str(self.snapshot.file)
        # In a sandbox a command that only reads need not be trusted to: it can write nowhere, and starts sooner.
        writable = () if only_reads else tuple(dict.fromkeys((self.start, *roots(self.ctx))))
        if trail:
            env["BASH_ENV"] = str(trail.script)
            writable += (trail.folder,)
        made = specification(self.args.command, self.start, env, writable, self.ctx.settings)
        made = replace(made, unsandboxed=self.args.dangerously_disable_sandbox, tty=self.args.tty)
        if self.confined:
            made = self.confined.around(made)
        return with_limits(made, self.ctx.settings) if runs_as_reader(self.ctx) else made

    def _going_on(self, task: Task, remark: str) -> BashOutput:
        how = "You will be told when it ends. TaskOutput reads its output so far; TaskStop stops it."
        how += f" Bash with task_id={task.id} types into it." if task.tty else ""
        where = f" Its output is in {task.output}." if task.output else ""
        self.remarks.append(f"{remark}{where} {how}")
        return bash.BashOutput(
            stderr="\n".join(self.remarks), background_task_id=task.id, persisted_output_path=task.output
        )

    def _ended(self, ended: ProcessExit, cwd: Path | None, remark: str, kills: int) -> BashOutput:
        if sleeps_long(self.args.command):
            self.remarks.append(SLEPT)
        self._note_limits(ended)
        meaning = ""
        if ended.code and not ended.timed_out and not ended.truncated:
            meaning = interpretation(ended.code, shape_of(self.args.command), shown(ended.output, ON_FAILURE).text)
        overflowed = ended.truncated and not ended.output_error
        if (ended.code != 0 or ended.timed_out or overflowed) and not meaning:
            raise self._failure(ended, cwd, remark, kills)
        if remark:
            self.remarks.append(remark)
        most = shown_chars(self.ctx.settings)
        text = shown(ended.output, most, min(PREVIEW, most)) if ended.output_bytes else Shown("")
        kept = self._keep(text, ended.output)
        note_view(self.args.command, self.understood.facts, text, self.ctx)
        return bash.BashOutput(
            stdout=text.text,
            stderr="\n".join(self.remarks),
            exit_code=ended.code,
            return_code_interpretation=meaning or None,
            persisted_output_path=kept,
            persisted_output_size=text.size if kept else None,
            stale_read_file_state_hint=self._changed_files(),
            cwd_after=self.ctx.cwd if self.args.workdir else cwd or self.start,
        )

    def _failure(self, ended: ProcessExit, cwd: Path | None, remark: str, kills: int) -> ToolError:
        text = shown(ended.output, min(ON_FAILURE, shown_chars(self.ctx.settings)))
        kept = self._keep(text, ended.output)
        if remark or cwd:
            self.remarks.append(remark or f"The next command starts in {cwd}.")
        hint = self._changed_files()
        if hint:
            self.remarks.append(hint)
        if ended.timed_out:
            how, code = f"timed out after {self.limits.seconds:g} s and was killed", "timeout"
        elif ended.truncated and not ended.output_error:
            how, code = f"wrote more than {ended.output_bytes:,} bytes and was killed", "too_large"
        else:
            starved = ended.out_of_memory or kills_for_memory() > kills
            how, code = ending(ended.code, ended.signal, starved), "failed"
        if self.confined and (ended.truncated or may_be_held_back(text.text, ended.signal)):
            self.remarks.append(HELD)
        parts = [f"The command {how}.", text.text, *self.remarks]
        value = bash.BashOutput(
            stdout=text.text,
            stderr="\n".join(self.remarks),
            exit_code=ended.code,
            signal=ended.signal,
            interrupted=ended.timed_out,
            timed_out_after_ms=round(self.limits.seconds * 1000) if ended.timed_out else None,
            persisted_output_path=kept,
            persisted_output_size=text.size if kept else None,
            stale_read_file_state_hint=hint,
            cwd_after=self.ctx.cwd if self.args.workdir else cwd or self.start,
        )
        words = "\n".join(part for part in parts if part)
        return ToolError(words, code=code, remedy="", value=value, change=Change(cwd=cwd) if cwd else None)

    def _note_limits(self, ended: ProcessExit) -> None:
        if ended.output_error:
            self.remarks.append(f"Not all of its output could be saved: {ended.output_error}.")
        if ended.out_of_memory:
            most = self.ctx.settings.get("bash.maxMemoryMb")
            self.remarks.append(f"It ran out of memory: the limit is {most:,} MB (setting bash.maxMemoryMb).")

    def _keep(self, text: Shown, path: Path | None) -> Path | None:
        """The raw output stays where the text is not the whole of it; else the file has served its purpose."""
        if path is None:
            return None
        if text.same:
            with suppress(OSError):
                path.unlink()
            return None
        if text.cut:
            self.remarks.append(f"The full output ({text.size:,} bytes) is in {path}.")
        return path

    def _changed_files(self) -> str | None:
        """Files that this conversation has read and that the command has changed."""
        files = self.ctx.services.files
        if files is None:
            return None
        facts, stale = self.understood.facts, list[str]()
        for path in (*facts.writes, *facts.deletes):
            state = files.known(path)
            if state and not (path.is_file() and files.is_current(path, state)):
                files.forget(path)
                stale.append(str(path))
        return f"This command changed {', '.join(stale)}. Read again before you edit." if stale else None


def _is_held(ctx: Context) -> bool:
    """Whether a command that asks to leave the sandbox stays in it."""
    settings = ctx.settings
    return settings.get("sandbox.enabled", False) and not settings.get("sandbox.allowUnsandboxedCommands", False)
