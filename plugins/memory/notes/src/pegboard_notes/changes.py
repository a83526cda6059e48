"""What a change makes of the text of a note."""

from __future__ import annotations

from pegboard import ToolError
from pegboard.wording import counted, listed


def replaced(text: str, old: str, new: str, path: str) -> str:
    """The text with another passage in place of the one that is meant, which must be there once."""
    count = text.count(old)
    if count == 0:
        raise ToolError(f"That text is not in {path}. It must match exactly, spaces included. View the note first.")
    if count > 1:
        places = listed(str(line) for line in _lines_with(text, old)[:10])
        reason = f"That text occurs {count} times in {path}, at the lines {places}."
        raise ToolError(f"{reason} Add lines around it until it is there only once.")
    return text.replace(old, new)


def inserted(text: str, line: int, new: str, path: str) -> str:
    """The text with a new one after a line; 0 is the start."""
    lines = text.splitlines(keepends=True)
    if line > len(lines):
        raise ToolError(f"{path} has {counted(len(lines), 'line')}; insert_line cannot be {line}.")
    before, after = "".join(lines[:line]), "".join(lines[line:])
    if before and not before.endswith("\n"):
        before += "\n"
    if after and not new.endswith("\n"):
        new += "\n"
    return before + new + after


def numbered(text: str, first: int, last: int, path: str) -> str:
    """Some lines of a text with their numbers; `last` is -1 for all the rest."""
    lines = text.splitlines()
    if not lines:
        return "(The note is empty.)"
    end = len(lines) if last == -1 else min(last, len(lines))
    if first > len(lines):
        raise ToolError(f"{path} has {counted(len(lines), 'line')}; it cannot be viewed from line {first}.")
    return "\n".join(f"{number:6}\t{lines[number - 1]}" for number in range(first, end + 1))


def _lines_with(text: str, passage: str) -> list[int]:
    found, at = [], text.find(passage)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(passage, at + 1)
    return found
