"""`/clear`, `/resume` and `/exit`: another conversation, or none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import PegboardError
from pegboard.settings import state_dir
from pegboard_session import SlashCommand, SlashExit, SlashSwitch, TranscriptStore, restore
from pegboard_terminal.columns import columns

if TYPE_CHECKING:
    from pegboard_session import Session

MOST = 12


async def clear(session: Session, arguments: str) -> SlashSwitch:
    """A new session; the one so far stays saved."""
    return SlashSwitch()


async def resume(session: Session, arguments: str) -> str | SlashSwitch:
    """Go on with an earlier session, or list those of this folder."""
    if arguments:
        return SlashSwitch(_store().find(arguments).stem)
    rows = [(path.stem[:12], words) for path, words in _earlier(session)]
    if not rows:
        return "There is no other session in this folder yet."
    return f"{columns(rows)}\n/resume ID continues one of them."


def sessions(session: Session, typed: str) -> Iterator[str]:
    """Ids that begin like this."""
    return (path.stem[:12] for path in _store().all()[:200] if path.stem.startswith(typed))


async def leave(session: Session, arguments: str) -> SlashExit:
    """End the conversation."""
    return SlashExit()


def _store() -> TranscriptStore:
    state = state_dir(os.environ)
    if not state:
        raise PegboardError("Sessions cannot be saved: there is no home directory. Set HOME or XDG_STATE_HOME.")
    return TranscriptStore(Path(state, "transcripts"))


def _earlier(session: Session) -> Iterator[tuple[Path, str]]:
    """The last sessions of this folder, each with its time and its first words."""
    count = 0
    for path in _store().all():
        if path.stem == session.id or count == MOST:
            continue
        try:
            restored = restore(path, whole=True)
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
        except (PegboardError, OSError):
            continue
        if restored.folder == session.board.settings.cwd and restored.prompt:
            count += 1
            yield path, f"{when}  {' '.join(restored.prompt.split())[:60]}"


COMMANDS = (
    SlashCommand("clear", "start a new session", clear),
    SlashCommand("resume", "list earlier sessions, or continue one", resume, "[id]", sessions),
    SlashCommand("exit", "leave", leave, at_once=True),
    SlashCommand("quit", "leave", leave, at_once=True),
)
