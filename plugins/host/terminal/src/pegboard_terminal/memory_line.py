"""`#text` keeps a line for later sessions, in the memory file of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import PegboardError

if TYPE_CHECKING:
    from pegboard_session import Session


def memory_line(text: str) -> str | None:
    """What a line that begins with `#` says; None for a prompt, such as several lines or a smaller heading."""
    line = text.strip()
    if not line.startswith("#") or line.startswith("##") or "\n" in line:
        return None
    return line[1:].strip()


def keep_line(session: Session, words: str) -> str:
    """Keep the line and say where. `#user:` and `#local:` at its beginning choose another file."""
    memory: Any = session.ctx.services.others.get("memory")
    if memory is None:
        return "Nothing was saved: no installed plugin provides memory files. Run: pip install pegboard-memory"
    scope, colon, rest = words.partition(":")
    chosen = scope if colon and scope in ("user", "local", "project") else ""
    try:
        return f"Added to {memory.add(rest if chosen else words, chosen or 'project')}."
    except PegboardError as error:
        return str(error)
