"""A prompt that begins with a slash runs the command of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import PegboardError
from pegboard.wording import did_you_mean
from pegboard_session import Outcome, SlashPrompt, find_slash_commands, split_slash_command

if TYPE_CHECKING:
    from pegboard_session import Session


class UnknownCommandError(PegboardError):
    """A prompt names a slash command that cannot be run here."""


async def answer_prompt(session: Session, prompt: str) -> Outcome:
    """Answer a prompt: by its slash command, by the model, or by the model with the prompt of the command."""
    called = split_slash_command(prompt)
    if called is None:
        return await session.run(prompt)
    name, arguments = called
    commands = find_slash_commands(session)
    if name not in commands:
        known = ", ".join(f"/{known}" for known in commands) or "none"
        reason = f"There is no command /{name}.{did_you_mean(name, commands)} The commands here are: {known}."
        raise UnknownCommandError(f"{reason} For a prompt that begins with a slash, put a space before it.")
    said = await commands[name].run(session, arguments)
    if isinstance(said, SlashPrompt):
        return await session.run(said.text)
    if isinstance(said, str) or said is None:
        return Outcome(said or "", "end", 0)
    raise UnknownCommandError(
        f"/{name} ends a conversation or starts another, so it needs a conversation: `pegboard run` without a prompt."
    )
