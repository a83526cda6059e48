"""Slash commands: what a person types in a conversation instead of a prompt. Every distribution can add its own.

An entry point in the group `pegboard.slash_commands` names a function that takes the session and returns its commands.
It is asked again for each line that begins with a slash, so commands from files and servers may come and go.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeAlias

from pegboard import Context, PegboardError
from pegboard.hosting import Features, load_index, normalise
from pegboard.wording import nearest
from pegboard_session.announcements import announce

if TYPE_CHECKING:
    from pegboard_session.loop import Session

GROUP = "pegboard.slash_commands"
log = logging.getLogger("pegboard")


@dataclass(frozen=True, slots=True)
class SlashPrompt:
    """A prompt for the model, made by a slash command."""

    text: str


@dataclass(frozen=True, slots=True)
class SlashSwitch:
    """Go on with another session: a new one, or the earlier one with this id."""

    resume: str = ""


@dataclass(frozen=True, slots=True)
class SlashExit:
    """End the conversation."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A command as it was typed, before it becomes a prompt."""

    name: str
    arguments: str
    source: str
    """Where the command comes from: `user`, `project`, `plugin`, or the name of a server."""
    kind: str = "slash_command"
    """Or `mcp_prompt`."""


async def announce_expansion(typed: Expansion, ctx: Context) -> str:
    """Tell plugins that a command is about to become a prompt. Returns what the model reads besides.

    Raises `PegboardError` if a plugin does not want it; so call it before the command does anything.
    """
    about = {
        "expansion_type": typed.kind,
        "command_name": typed.name,
        "command_args": typed.arguments,
        "command_source": typed.source,
        "prompt": f"/{typed.name} {typed.arguments}".strip(),
    }
    heard = await announce("UserPromptExpansion", about, ctx)
    if heard.block:
        raise PegboardError(f"/{typed.name} was not run. {heard.block}")
    return heard.context


@dataclass(frozen=True, slots=True)
class SlashConfirm:
    """Ask the person before something is done."""

    text: str
    """What would be done, shown before the question."""
    question: str
    """To be answered with yes or no: `Restore 2 files?`"""
    then: Callable[[], Awaitable[SlashAnswer]]
    """What a yes does."""
    otherwise: str
    """What is said where no one can be asked: how to agree beforehand."""


SlashAnswer: TypeAlias = "str | SlashPrompt | SlashSwitch | SlashExit | SlashConfirm | None"


class SlashCommandError(PegboardError):
    """A line names a slash command that does not exist, or that cannot be run where it was written."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command. `run` returns a text to show, a prompt, a question to confirm, another session, the end, or None."""

    name: str
    """Without the slash."""
    summary: str
    """One line for `/help`."""
    run: Callable[[Session, str], Awaitable[SlashAnswer]]
    """Takes the session and what was typed after the name."""
    arguments: str = ""
    """What may follow the name, as `/help` shows it: `[what to keep]`."""
    complete: Callable[[Session, str], Iterable[str]] | None = None
    """Completions of what was typed after the name so far."""
    at_once: bool = False
    """Whether it may run while the model works. Others wait until the prompt is answered."""
    is_fallback: bool = False
    """Whether it counts only where no other distribution has a command of this name: one from a file or a server."""


Source = Callable[["Session"], Iterable[SlashCommand]]


def find_slash_commands(session: Session) -> dict[str, SlashCommand]:
    """All commands by name. The first distribution by name wins, one that fails is reported and left out.

    A command from a file never takes the place of one that a distribution has of its own. A distribution whose plugins
    are all switched off is not imported.
    """
    found: dict[str, SlashCommand] = {}
    off = _switched_off(session)
    for point in sorted(entry_points(group=GROUP), key=lambda point: (_owner(point), point.name)):
        if _owner(point) in off:
            continue
        try:
            source: Source = point.load()
            for command in source(session):
                known = found.get(command.name)
                if known is None or (known.is_fallback and not command.is_fallback):
                    found[command.name] = command
        except Exception:
            log.warning("the slash commands of %s cannot be read", point.value, exc_info=True)
    return dict(sorted(found.items()))


def _owner(point: EntryPoint) -> str:
    return normalise(point.dist.name) if point.dist else ""


def _switched_off(session: Session) -> set[str]:
    """The distributions that have plugins, all of them switched off."""
    features = Features(session.board.settings)
    is_on: dict[str, bool] = {}
    for plugin in load_index(lambda plugin: False)["plugins"]:
        owner = normalise(plugin["dist"])
        is_on[owner] = is_on.get(owner, False) or features.off(plugin) is None
    return {owner for owner, on in is_on.items() if not on}


def split_slash_command(line: str) -> tuple[str, str] | None:
    """The name and the arguments of a line that calls a command; None for a prompt. A path is a prompt."""
    if not line.startswith("/"):
        return None
    name, *rest = line[1:].split(None, 1) or [""]
    return (name, "".join(rest).strip()) if name and "/" not in name else None


async def answer_slash_command(session: Session, name: str, arguments: str) -> SlashAnswer:
    """What a command answers. For one that does not exist a `SlashCommandError` has the nearest names."""
    found = find_slash_commands(session)
    if name in found:
        try:
            return await found[name].run(session, arguments)
        except PegboardError:
            raise
        except Exception as error:  # A command that breaks must not end the conversation.
            log.warning("the command /%s failed", name, exc_info=True)
            raise SlashCommandError(f"The command /{name} failed: {type(error).__name__}: {error}.") from error
    close = nearest(name, found, 3) or [known for known in found if known.startswith(name[:1])]
    hint = f" Did you mean {' or '.join(f'/{known}' for known in close[:3])}?" if close else ""
    listed = "/help lists them all." if "help" in found else f"The commands are {', '.join(found) or 'none'}."
    raise SlashCommandError(f"There is no command /{name}.{hint} {listed}")
