"""A command that plainly shows one file is a reading of it: what it showed may be edited as if Read had shown it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from pegboard import Context, Facts, ToolError
from pegboard_bash.output import Shown
from pegboard_bash.shape import Words, shape_of
from pegboard_files import FileState, plain_text
from pegboard_files.service import merged, stat_state
from pegboard_files.text_file import regular_bytes, text_file

VIEWERS = frozenset({"cat", "nl", "head", "tail", "sed", "grep", "egrep", "fgrep", "rg"})
LARGEST = 4_000_000
"""Larger files are left to Read: to be remembered, a file must be read whole once more."""
SEARCHERS = VIEWERS - {"cat", "nl", "head", "tail", "sed"}
NUMBERED = re.compile(r"\s*\d*\s*")
FOUND = re.compile(r"(\d+)[:-]")
FROM_LINE = re.compile(r"(\d+)(?:,(?:\d+|\$))?p")


def note_view(command: str, facts: Facts, shown: Shown, ctx: Context) -> None:
    """Remember what a command showed of a file, if it is one program that shows one file and nothing else."""
    files, commands = ctx.services.files, shape_of(command).commands
    if files is None or not shown.text or shown.cut:
        return
    if not (facts.read_only and len(facts.parts) == len(commands) == len(facts.reads) == 1):
        return
    words, path = commands[0], facts.reads[0]
    if words and words[0] in VIEWERS and (state := _state(path, words, shown.text, ctx)):
        files.note(path, state)


def _state(path: Path, words: Words, text: str, ctx: Context) -> FileState | None:
    try:
        found = os.stat(path)
        data = regular_bytes(path, ctx.approved_paths) if found.st_size <= LARGEST else None
        file = text_file(path, data, None) if data else None
    except (OSError, ToolError):  # gone, or no text: then nothing was seen that could be edited
        return None
    if file is None:
        return None
    if plain_text(file.view) != file.view:  # A terminal would have hidden some of it, and so have we.
        return None
    lines, seen = file.view.rstrip("\n").split("\n"), text.removeprefix("\ufeff").split("\n")
    ranges = _ranges(words, lines, seen)
    if not ranges:
        return None
    complete = ranges == ((1, len(lines)),)
    return replace(
        stat_state(found, file.digest),
        encoding=file.encoding,
        newline=file.newline,
        mixed=file.mixed,
        bom=bool(file.bom),
        complete=complete,
        source="view",
        ranges=() if complete else ranges,
        total_lines=len(file.view.removesuffix("\n").split("\n")),
    )


def _ranges(words: Words, lines: list[str], seen: list[str]) -> tuple[tuple[int, int], ...]:
    """The lines of the file that the output shows; none unless all of the output is accounted for."""
    if words[0] in SEARCHERS:
        numbers = [_number(line, lines) for line in seen]
        return () if None in numbers else merged((at, at) for at in numbers if at)
    first = _first_line(words, len(lines), len(seen))
    if first is None or first + len(seen) - 1 > len(lines):
        return ()
    # The output itself must confirm it: options such as -s and -A show something other than the file.
    fits = all(map(_shows, seen, lines[first - 1 : first - 1 + len(seen)]))
    return ((first, first + len(seen) - 1),) if fits else ()


def _shows(line: str, original: str) -> bool:
    """Whether a line of output is a line of the file, alone or behind its number."""
    if not line.endswith(original):
        return False
    return NUMBERED.fullmatch(line, 0, len(line) - len(original)) is not None


def _number(line: str, lines: list[str]) -> int | None:
    """Which line of the file a search shows: by the number in front of it, or by being the only one like it."""
    found = FOUND.match(line)
    if found and 0 < int(found[1]) <= len(lines) and line[found.end() :] == lines[int(found[1]) - 1]:
        return int(found[1])
    return lines.index(line) + 1 if lines.count(line) == 1 else None


def _first_line(words: Words, total: int, seen: int) -> int | None:
    """Which line the output begins with, as far as the program's words tell."""
    program = words[0]
    if program in ("cat", "nl", "head"):
        return 1
    if program == "tail":
        return max(total - seen + 1, 1)
    if program == "sed":
        starts = [int(match[1]) for word in words if (match := FROM_LINE.fullmatch(word))]
        return starts[0] if len(starts) == 1 and starts[0] > 0 else None
    return None
