"""The hooks: the tools, and the plans of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Context, Tool, hookimpl
from pegboard_dialog.plans import LINE, SERVICE, Plans

if TYPE_CHECKING:
    from pegboard_session import Session


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    # Every session loads these hooks, and few use the tools.
    from pegboard_dialog.ask_user_question import AskUserQuestion
    from pegboard_dialog.config import Config
    from pegboard_dialog.plan_tools import EnterPlanMode, ExitPlanMode

    return [AskUserQuestion(), EnterPlanMode(), ExitPlanMode(), Config()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """The plans of the session, also after a resume. Sub-agents have none."""
    if session.parent:
        return {}
    path = session.transcript.path if session.transcript else None
    folder = path.with_suffix("") / "plans" if path else None
    plans = Plans(lambda row: session.write(LINE, **row), folder, session.ctx.mode)
    own = plans.mode_before
    for line in session.restored.lines:
        if line["type"] == LINE:
            plans.load(line)
    if plans.mode_before != own:  # A recorded mode is only a request: what may not start is not gone back to either.
        plans.mode_before, _ = session.board.hooks.modes.starting(session.board.settings, plans.mode_before)
    return {SERVICE: plans}


@hookimpl
def add_reminders(session: Session) -> str | None:
    """Tell the model once that a person has switched to the mode plan, or away from it."""
    plans = session.ctx.services.others.get(SERVICE)
    return plans.news(session.current.mode) if isinstance(plans, Plans) else None


@hookimpl
def after_compact(ctx: Context) -> str | None:
    """The plan that was approved is no longer in the conversation, nor what the mode means."""
    plans = ctx.services.others.get(SERVICE)
    return plans.after_summary(ctx.mode) if isinstance(plans, Plans) else None
