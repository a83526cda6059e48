"""Apply replacements to a text in order: all of them, or none."""

from __future__ import annotations

from dataclasses import dataclass

from pegboard import ToolError
from pegboard_edit.match import Match, find, without_overlaps
from pegboard_edit.misses import help_for
from pegboard_files.encodings import view_of
from pegboard_files.splice import spliced
from pegboard_files.text_file import TextFile

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement."""

    old: str
    new: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class MatchRules:
    """What is known about the file that an edit changes."""

    levels: tuple[str, ...]
    has_seen: bool
    """Whether the conversation has seen the whole current file; if not, only a single exact match is accepted."""
    has_changed: bool
    """Whether it has seen an earlier version of the file."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The text with all replacements, and how they were found."""

    text: str
    replacements: int
    strategies: list[str]


def apply_all(file: TextFile, edits: list[Replacement], rules: MatchRules) -> Applied:
    """Apply each replacement to the result of the previous ones."""
    text, count, strategies = file.text, 0, list[str]()
    for index, edit in enumerate(edits):
        place = f"edits[{index}]: " if len(edits) > 1 else ""
        text, made, strategy = _apply(file, text, edit, rules, place)
        count += made
        strategies.append(strategy)
    return Applied(text, count, strategies)


def _apply(file: TextFile, text: str, edit: Replacement, rules: MatchRules, place: str) -> tuple[str, int, str]:
    if edit.old == edit.new:
        raise ToolError(f"{place}old_string and new_string are identical, so nothing would change.")
    if not edit.old:
        raise _empty(file, place)
    view = view_of(text, file.newline)
    match = find(view, edit.old, edit.new, rules.levels)
    if match is None:
        raise _not_found(file, view, edit, rules, place)
    spans = without_overlaps(match.spans) if edit.replace_all else match.spans
    is_exact = match.strategy in ("exact", "newline")
    if len(spans) > 1 and not (edit.replace_all and is_exact):
        raise _ambiguous(file, view, match, rules, place)
    if not rules.has_seen and not (is_exact and len(spans) == 1):
        raise _unseen(file, rules, place, len(spans))
    pieces = [(start, end, match.new) for start, end in spans]
    return spliced(text, view, file.newline, pieces), len(spans), match.strategy


def _empty(file: TextFile, place: str) -> ToolError:
    reason = f"{place}old_string is empty, but {file.path} is not."
    return ToolError(f"{reason} Give the text to replace, or use Write to replace the whole file.")


def _not_found(file: TextFile, view: str, edit: Replacement, rules: MatchRules, place: str) -> ToolError:
    help_ = help_for(view, edit.old)
    if rules.has_changed:
        reason = f"{place}{file.path} has changed since it was read, and that text is not in it."
        return ToolError(f"{reason} {help_}", code="stale")
    return ToolError(
        f"{place}That text is not in {file.path}. It must match exactly, spaces included. {help_}", code="no_match"
    )


def _ambiguous(file: TextFile, view: str, match: Match, rules: MatchRules, place: str) -> ToolError:
    numbers = [str(view.count("\n", 0, start) + 1) for start, _ in match.spans[:MOST_NAMED]]
    more = f" and {len(match.spans) - MOST_NAMED} more" if len(match.spans) > MOST_NAMED else ""
    reason = f"{place}That text is in {file.path} {len(match.spans)} times, at lines {', '.join(numbers)}{more}."
    changed = f" {file.path} has changed since it was read." if rules.has_changed else ""
    remedy = "Include more of the surrounding text, or set replace_all."
    return ToolError(f"{reason}{changed} {remedy}", code="stale" if rules.has_changed else "ambiguous")


def _unseen(file: TextFile, rules: MatchRules, place: str, count: int) -> ToolError:
    why = "has changed since it was read" if rules.has_changed else "has not been read in full in this conversation"
    found = f"the text is in it {count} times" if count > 1 else "the match is only approximate"
    return ToolError(f"{place}{file.path} {why}, and {found}. Read it first.", code="stale")
