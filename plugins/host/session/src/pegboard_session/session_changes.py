"""What a person changes about a session while it goes on: its permission mode and its model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pegboard import Change
from pegboard_session.cleared_results import drop_thinking

if TYPE_CHECKING:
    from pegboard_session.loop import Session


def change_mode(session: Session, name: str) -> str:
    """Change the permission mode; why it was not, or empty. A mode that may not start may not be entered either."""
    mode, refusal = session.board.hooks.modes.starting(session.board.settings, name)
    if refusal:
        return refusal.message
    if turn := session.interruption.turn:
        turn.change(Change(mode=mode))
    session.ctx = replace(session.ctx, mode=mode)
    ctx = session.current
    session.write("change", cwd=str(ctx.cwd), mode=mode, loaded_tools=list(ctx.loaded_tools))
    return ""


def change_model(session: Session, name: str) -> None:
    """Change the model. Thinking that is bound to the former one is left out: others would refuse it."""
    model = session.models.resolve(name)
    session.account.price(model)
    if model != session.model:
        bound = session.profile.binds_thinking or session.models.profile(model).binds_thinking
        if bound and not session.is_running:
            drop_thinking(session.conversation.messages)
        session.model = model
