"""`/diff` and `/export`: what the session has done."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from pegboard import PegboardError
from pegboard_session import SlashCommand

if TYPE_CHECKING:
    from pegboard_session import Session

CHANGED = "file_changed"
"""The lines of a transcript about changed files, which pegboard-undo writes."""
UNKNOWN = "it was changed, and what it was before was not kept."
LARGEST = 400_000
"""Bytes above which a file's difference is not computed: the person is waiting."""


async def show_diff(session: Session, arguments: str) -> str:
    """How the files that tools and commands have changed since the start differ from before."""
    return await to_thread.run_sync(_differences, session)


def _differences(session: Session) -> str:
    parts = [words for path, before in _first_versions(session) if (words := _difference(session, path, before))]
    return "\n".join(parts) or "The tools have not changed any files."


def _first_versions(session: Session) -> Iterator[tuple[Path, bytes | str | None]]:
    """Each file that was changed, with its bytes before: None where there was no file, a text where they are unknown.

    The file service knows what tools wrote through it; lines of the transcript also say what commands changed.
    """
    files = session.ctx.services.files
    first: dict[Path, tuple[str, Path | None]] = {}
    for line in list(session.restored.lines):
        if line["type"] == CHANGED:
            stored = Path(line["stored"]) if line.get("stored") else None
            first.setdefault(Path(line["path"]), (str(line["before"]), stored))
    for entry in files.undo_entries() if files else ():
        first.setdefault(entry.path, (entry.before, entry.stored))
    for path, (before, stored) in first.items():
        try:
            yield path, stored.read_bytes() if stored else UNKNOWN if before else None
        except OSError:
            yield path, UNKNOWN


def _difference(session: Session, path: Path, before: bytes | str | None) -> str:
    """One file, as a unified diff."""
    name = os.path.relpath(path, session.board.settings.cwd)
    if isinstance(before, str):
        return f"{name}: {before}"
    try:
        now = path.read_bytes() if path.exists() else None
        if before == now:
            return ""
        if len(before or b"") + len(now or b"") > LARGEST:
            return f"{name}: it was changed, and is too large to be compared here."
        old, new = (_lines(data) for data in (before, now))
    except (OSError, UnicodeDecodeError):
        return f"{name}: it was changed, and cannot be compared as text."
    source, target = (
        f"{side}/{name}" if data is not None else "/dev/null" for side, data in (("a", before), ("b", now))
    )
    return "\n".join(difflib.unified_diff(old, new, source, target, lineterm=""))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode().splitlines()


async def export(session: Session, arguments: str) -> str:
    """Write the conversation to a file as Markdown. One that exists is not overwritten."""
    return f"Exported to {_export(session, arguments or f'conversation-{session.id[:12]}.md')}."


def _export(session: Session, name: str) -> Path:
    path = Path(session.current.cwd, os.path.expanduser(name))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("\n\n".join(_exported(session.messages)) + "\n")
    except OSError as error:
        raise PegboardError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _exported(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        for block in message["content"]:
            if block["type"] == "text":
                who = "## Prompt" if message["role"] == "user" else "## Answer"
                yield f"{who}\n\n{block['text']}"
            elif block["type"] == "tool_use":
                yield f"### Call {block['name']}\n\n{_fenced(str(block['input']))}"
            elif block["type"] == "tool_result":
                content = block.get("content", [])
                texts = [content] if isinstance(content, str) else [str(part.get("text", "")) for part in content]
                yield f"### Result\n\n{_fenced(chr(10).join(texts))}"


def _fenced(text: str) -> str:
    """A block of code around any text."""
    fence = "`" * max(3, 1 + max((len(run) for run in text.split() if set(run) == {"`"}), default=0))
    return f"{fence}\n{text}\n{fence}"


COMMANDS = (
    SlashCommand("diff", "show what tools and commands have changed", show_diff, at_once=True),
    SlashCommand("export", "write the conversation to a file as Markdown", export, "[file]"),
)
