"""The hooks: which call is running for which session, and whether it needs a checkpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from pegboard import Context, Facts, Tool, hookimpl

if TYPE_CHECKING:
    from pegboard_session import Session
    from pegboard_undo.journal import Journal, Moment

SERVICE = "pegboard.undo"

Execute = Callable[[Any, Context], Awaitable[Any]]


class RunningCall:
    """A call that runs now."""

    def __init__(self, journal: Journal, facts: Facts | None, ctx: Context) -> None:
        self.journal, self.facts, self.cwd = journal, facts, ctx.cwd
        self._background = ctx.services.background
        self._before: Moment | None = None
        self._is_begun = False

    async def before_process(self) -> None:
        """A process is about to start: take a checkpoint before the first one, unless the call only reads."""
        if self._is_begun or self.facts is None or self.facts.read_only:
            return
        self._is_begun = True
        named = (*self.facts.writes, *self.facts.deletes)
        self._before = await to_thread.run_sync(self.journal.take_checkpoint, self.cwd, named)

    async def after(self, value: object = None) -> None:
        """The call is over: note what its processes have changed, also when it was cancelled."""
        before, self._before = self._before, None
        if before is None:
            return
        task_id = str(getattr(value, "background_task_id", None) or "")
        task = self._background.get(task_id) if task_id and self._background else None
        if task and task.state == "running":
            self.journal.follow(task_id, before)
            return
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self.journal.note_changes, before)


_running: ContextVar[RunningCall | None] = ContextVar("running_call", default=None)


def _journal(ctx: Context) -> Journal | None:
    found = ctx.services.others.get(SERVICE)
    if found is None:
        return None
    from pegboard_undo.journal import Journal  # Only a session has one.

    return found if isinstance(found, Journal) else None


@hookimpl
def register_session_services(session: Session) -> Mapping[str, object]:
    """One journal for a session and all its sub-agents."""
    above = session
    while above.parent:
        above = above.parent
    if above is not session:
        found = _journal(above.ctx)
        return {SERVICE: found} if found else {}
    from pegboard_undo.journal import Journal  # A call without a session needs none of it.

    return {SERVICE: Journal(session, lambda journal: (call := _running.get()) is not None and call.journal is journal)}


@hookimpl
def add_reminders(session: Session, moment: str) -> None:
    """A prompt begins a new turn."""
    journal = _journal(session.ctx)
    if journal and moment == "prompt" and session.parent is None:
        journal.next_turn()


@hookimpl
def check_permission(facts: Facts, ctx: Context) -> None:
    """Remember what the call would do, until it runs. There is no opinion on it here."""
    if journal := _journal(ctx):
        journal.facts[ctx.call_id] = facts


@hookimpl
def wrap_execute(tool: Tool[Any, Any], execute: Execute) -> Execute:
    """Know which call is running."""

    async def noted(args: Any, ctx: Context) -> Any:
        journal = _journal(ctx)
        if journal is None:
            return await execute(args, ctx)
        call = RunningCall(journal, journal.facts.pop(ctx.call_id, None), ctx)
        # Such a tool uses a process of an earlier call, so the start of a process does not tell us in time.
        if getattr(tool, "keeps_process", False):
            await call.before_process()
        token, value = _running.set(call), None
        try:
            value = await execute(args, ctx)
        finally:
            _running.reset(token)
            await call.after(value)
        return value

    return noted


@hookimpl
async def wrap_process() -> None:
    """Take a checkpoint in time."""
    if call := _running.get():
        await call.before_process()


@hookimpl
async def end_session(ctx: Context) -> None:
    """Listen no more."""
    if (journal := _journal(ctx)) and ctx.session_id == journal.session_id:
        await to_thread.run_sync(journal.close)
