"""The slash commands of a conversation. Each file has those about one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_session import SlashCommand
from pegboard_terminal.commands import about, choices, costs, ways_out, work

if TYPE_CHECKING:
    from pegboard_session import Session


def commands(session: Session) -> list[SlashCommand]:
    """What `pegboard.slash_commands` asks for."""
    return [*about.COMMANDS, *choices.COMMANDS, *costs.COMMANDS, *work.COMMANDS, *ways_out.COMMANDS]
