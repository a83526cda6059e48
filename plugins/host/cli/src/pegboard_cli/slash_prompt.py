"""A prompt that begins with a slash runs the command of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_session import (
    Outcome,
    SlashCommandError,
    SlashConfirm,
    SlashPrompt,
    answer_slash_command,
    split_slash_command,
)

if TYPE_CHECKING:
    from pegboard_session import Session


async def answer_prompt(session: Session, prompt: str) -> Outcome:
    """Answer a prompt: by its slash command, by the model, or by the model with the prompt of the command."""
    called = split_slash_command(prompt)
    if called is None:
        return await session.run(prompt)
    try:
        said = await answer_slash_command(session, *called)
    except SlashCommandError as error:
        raise SlashCommandError(f"{error} For a prompt that begins with a slash, put a space before it.") from None
    if isinstance(said, SlashPrompt):
        return await session.run(said.text)
    if isinstance(said, SlashConfirm):
        return Outcome(f"{said.text}\n{said.otherwise}", "end", 0)
    if isinstance(said, str) or said is None:
        return Outcome(said or "", "end", 0)
    raise SlashCommandError(f"/{called[0]} ends this conversation or begins another: only a conversation can do that.")
