"""What keeps Write from losing text by mistake."""

from __future__ import annotations

from pathlib import Path

from pegboard import Context, ToolError
from pegboard.host.omissions import placeholders
from pegboard.host.texts import TextFile
from pegboard.services import FileState

MAX_BYTES = 10_000_000
MAX_SHRINK_PERCENT = 70
FEWEST_LINES = 20
"""Shorter files may shrink as they like: there is little to lose."""


def refuse_content(path: Path, content: str, ctx: Context) -> None:
    """Content that no text file should get."""
    if "\0" in content:
        raise ToolError(f"content has a NUL character at {content.index(chr(0))}; {path} would not be text any more.")
    most = ctx.settings.get("write.maxBytes", MAX_BYTES)
    if len(content) > most:
        raise ToolError(f"content is longer than {most:,} bytes. Write it in parts, or use Bash.", code="too_large")


def refuse_unread(before: TextFile, known: FileState | None) -> None:
    """An existing file is replaced only by somebody who has seen all of it, as it is."""
    if not before.text:
        return
    if known is None:
        reason = f"{before.path} exists and has not been read in this conversation."
        raise ToolError(f"{reason} Read it first, or use Edit to change a part.", code="stale")
    if known.digest != before.digest:
        raise ToolError(f"{before.path} has changed since it was read. Read it again before changing it.", code="stale")
    if not known.complete:
        reason = f"{before.path} has been read in part only, and Write would replace all of it."
        raise ToolError(f"{reason} Read the rest first, or use Edit to change a part.", code="stale")


def refuse_loss(before: TextFile, content: str, ctx: Context) -> None:
    """Text that vanishes: a file that shrinks a lot, or lines that stand for what was left out."""
    if ctx.settings.get("write.placeholders", "refuse") == "refuse" and (found := placeholders(content, before.text)):
        reason = f"content has the line {found[0]!r}, which seems to stand for text that was left out."
        raise ToolError(f"{reason} Nothing was written. Give the whole content, or use Edit to change a part.")
    most = ctx.settings.get("write.maxShrinkPercent", MAX_SHRINK_PERCENT)
    old, new = len(before.view), len(content)
    shrunk = 100 * (old - new) // old if old else 0
    if shrunk > most and before.text.count("\n") >= FEWEST_LINES:
        reason = f"content is {shrunk} % shorter than {before.path} ({new:,} instead of {old:,} characters)."
        remedy = "Nothing was written. If that is meant, delete the text with Edit, or ask the user to allow it"
        raise ToolError(f"{reason} {remedy} (setting write.maxShrinkPercent, now {most}).")
