"""Checks that keep Write from losing text by mistake."""

from __future__ import annotations

from pathlib import Path

from pegboard import Context, ToolError
from pegboard_files import FileState
from pegboard_files.placeholders import placeholders
from pegboard_files.text_file import TextFile

FEWEST_LINES = 20
"""Shorter files may shrink freely: there is little to lose."""


def refuse_content(path: Path, content: str, ctx: Context) -> None:
    """Refuse content that is not text or is too long."""
    if "\0" in content:
        at = content.index("\0")
        raise ToolError(f"content has a NUL character at index {at}, so {path} would no longer be a text file.")
    most = ctx.settings.get("write.maxBytes")
    if len(content) > most:
        raise ToolError(f"content is longer than {most:,} bytes. Write it in parts, or use Bash.", code="too_large")


def refuse_unread(before: TextFile, known: FileState | None) -> None:
    """Refuse to replace an existing file unless the conversation has seen all of its current content."""
    if not before.text:
        return
    if known is None:
        reason = f"{before.path} exists and has not been read in this conversation."
        raise ToolError(f"{reason} Read it first, or use Edit to change part of it.", code="stale")
    if known.digest != before.digest:
        raise ToolError(f"{before.path} has changed since it was read. Read it again before changing it.", code="stale")
    if not known.complete:
        reason = f"{before.path} has been read only in part, and Write would replace all of it."
        raise ToolError(f"{reason} Read the rest first, or use Edit to change part of it.", code="stale")


def refuse_loss(before: TextFile, content: str, ctx: Context) -> None:
    """Refuse content that would lose text: a file that shrinks a lot, or placeholders for omitted text."""
    if ctx.settings.get("write.placeholders") == "refuse" and (found := placeholders(content, before.text)):
        reason = f"content has the line {found[0]!r}, which looks like a placeholder for omitted text."
        raise ToolError(f"{reason} Nothing was written. Give the whole content, or use Edit to change part of it.")
    most = ctx.settings.get("write.maxShrinkPercent")
    old, new = len(before.view), len(content)
    shrunk = 100 * (old - new) // old if old else 0
    if shrunk > most and before.text.count("\n") >= FEWEST_LINES:
        reason = f"content is {shrunk}% shorter than {before.path} ({new:,} instead of {old:,} characters)."
        remedy = "Nothing was written. If this is intended, delete the text with Edit, or ask the user to allow it"
        raise ToolError(f"{reason} {remedy} (setting write.maxShrinkPercent, now {most}).")
