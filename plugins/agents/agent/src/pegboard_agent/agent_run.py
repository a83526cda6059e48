"""One run of an agent: in its place, within its time, in the foreground or the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegboard import Context, ToolError
from pegboard.wording import counted
from pegboard_agent import typed
from pegboard_agent.agent import AgentInput, AgentOutput
from pegboard_agent.reports import announcement, completed, cut
from pegboard_agent.service import SubAgentOutcome, agents_service
from pegboard_agent.subagent import SubAgent
from pegboard_processes import Task
from pegboard_worktrees import Worktree, isolated

ALIVE = ("request_started", "message_finished", "call_started", "call_finished")
"""Events that count as a sign of life of the whole call."""


class AgentRun:
    """A child that is about to run, and all that its run needs."""

    def __init__(
        self,
        child: SubAgent,
        args: AgentInput,
        ctx: Context,
        seconds: float,
        *,
        warnings: Sequence[str] = (),
        isolated: bool = False,
    ) -> None:
        self._child, self._args, self._ctx, self._seconds = child, args, ctx, seconds
        self._warnings, self._isolated = [*warnings, *child.warnings], isolated
        self._calls, self._last = 0, "none"
        self._log: Path | None = None
        self._task: Task | None = None

    async def start(self, *, background: bool) -> AgentOutput:
        """Run it now, or leave it to the background."""
        if background:
            return self._launch()
        with self._child:
            return cut(await self._run(), self._folder)

    @property
    def _folder(self) -> Path:
        return self._ctx.files.scratch("agents")

    def _launch(self) -> AgentOutput:
        child, args = self._child, self._args
        self._log = self._folder / f"{child.id}.txt"
        self._log.write_text(f"{child.kind} agent {child.id}: {args.description}\n", "utf-8")
        background = self._ctx.background
        child.__enter__()  # Its slot is taken now; the background work frees it.
        try:
            self._task = background.start(args.description, self._work, output=self._log)
        except BaseException:
            child.__exit__()
            raise
        return AgentOutput(
            status="async_launched",
            agent_id=child.id,
            agent_type=child.kind,
            description=args.description,
            prompt=args.prompt,
            resolved_model=child.model,
            output_file=str(self._log),
            task_id=self._task.id,
            warnings=self._warnings,
        )

    async def _work(self) -> AgentOutput:
        news = f"The background agent {self._child.id} ({self._args.description}) was stopped."
        try:
            output = with_file(await self._run(), self._log)
            self._note(output.content)
            news = announcement(output)
            return output
        except ToolError as error:
            news = f"The background agent {self._child.id} ({self._args.description}) failed. {error.message}"
            raise
        except Exception as error:
            news = f"The background agent {self._child.id} failed because of a bug: {type(error).__name__}."
            raise
        finally:
            self._child.__exit__()
            self._note(news.splitlines()[0])
            if self._child.state != "interrupted":  # Stopped by the end of the session: there is no one left to tell.
                agents_service(self._ctx).announce(news)

    async def _run(self) -> AgentOutput:
        place: Worktree | None = None
        async with AsyncExitStack() as stack:
            if self._isolated:
                label = self._args.name or self._child.kind
                base = self._ctx.settings.get("agents.worktreeBase")
                place = await stack.enter_async_context(isolated(self._ctx, label, base, self._child.workspace))
            outcome, result = await self._answer(place)
        output = completed(self._child, self._args, outcome, self._warnings, place)
        return output.model_copy(update={"result": result})

    async def _answer(self, place: Worktree | None) -> tuple[SubAgentOutcome, Any]:
        args, schema = self._args, self._args.output_schema
        workspace = place.path if place else None
        prompt = args.prompt if schema is None else typed.asking(args.prompt, schema)
        outcome = await self._ask(prompt, self._seconds, workspace)
        if schema is None:
            return outcome, None
        result, fault = typed.parse(outcome.text, schema)
        if fault and outcome.stopped_by == "end":
            left = max(self._seconds - outcome.ms / 1000, 1.0)
            again = await self._ask(typed.asking_again(fault), left, workspace)
            outcome = replace(again, ms=outcome.ms + again.ms, turns=outcome.turns + again.turns)
            result, fault = typed.parse(outcome.text, schema)
        if fault:
            reason = f"The answer from the agent {self._child.id} does not match output_schema: {fault}"
            raise ToolError(f"{reason}\nIts answer was: {outcome.text[:2000]}", code="invalid_input")
        return outcome, result

    async def _ask(self, prompt: str, seconds: float, workspace: Path | None) -> SubAgentOutcome:
        return await self._child.run(prompt, workspace=workspace, seconds=seconds, on_event=self._hear, task=self._task)

    def _hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """Report progress: the agent's last call and the number of calls so far."""
        if kind == "call_finished":
            self._calls, self._last = self._calls + 1, data["name"]
            self._note(f"{data['name']} {'failed' if data['is_error'] else 'ok'} ({data['ms']:.0f} ms)")
        if kind in ALIVE and not self._log:
            progress = f"{counted(self._calls, 'call')}, last {self._last}"
            self._ctx.report(progress, agent=self._child.id, calls=self._calls)

    def _note(self, line: str) -> None:
        """A line in the file that grows while the agent works."""
        if self._log:
            try:
                with self._log.open("a", encoding="utf-8", errors="surrogatepass") as file:
                    file.write(line + "\n")
            except OSError:
                self._log = None  # A full disk must not stop the agent; its report still goes to the model.


def with_file(output: AgentOutput, log: Path | None) -> AgentOutput:
    """The output with the file that holds all of it."""
    return output.model_copy(update={"output_file": str(log) if log else None})
