"""`/model` and `/mode`: what a person chooses while the conversation goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pegboard.wording import did_you_mean
from pegboard_session import SlashCommand
from pegboard_terminal.columns import columns

if TYPE_CHECKING:
    from pegboard_session import Session


async def choose_model(session: Session, arguments: str) -> str:
    """Say which model is asked, or ask another one of the same provider."""
    if arguments:
        session.set_model(arguments)
        return f"The model is {session.model} from the next request on."
    aliases = dict(sorted(session.models.aliases.items()))
    known = f"\n{columns(aliases.items())}" if aliases else ""
    return f"The model is {session.model} ({session.provider.name}). /model NAME switches to another.{known}"


def models(session: Session, typed: str) -> Iterator[str]:
    """Names of models that begin like this."""
    aliases = session.models.aliases
    return (name for name in sorted({*aliases, *aliases.values()}) if name.startswith(typed) and "*" not in name)


async def choose_mode(session: Session, arguments: str) -> str:
    """Say which permission mode applies, or choose another."""
    known = list(session.board.hooks.modes)
    if not arguments:
        return f"The mode is {session.current.mode}. The modes here are {', '.join(known)}."
    if arguments not in session.board.hooks.modes:
        hint = did_you_mean(arguments, known)
        return f"There is no mode {arguments!r}.{hint} The modes here are {', '.join(known)}."
    return session.set_mode(arguments) or f"The mode is {session.current.mode} now."


def modes(session: Session, typed: str) -> Iterator[str]:
    """Names of modes that begin like this."""
    return (name for name in session.board.hooks.modes if name.startswith(typed))


COMMANDS = (
    SlashCommand("model", "show the model, or switch to another", choose_model, "[name]", models, at_once=True),
    SlashCommand("mode", "show the permission mode, or switch to another", choose_mode, "[name]", modes, at_once=True),
)
