"""From a command to facts: what it would do, said before it does it."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import Facts, Part
from pegboard_bash.deeds import Place
from pegboard_bash.simple import absorb
from pegboard_bash.walk import Walk

if TYPE_CHECKING:
    from tree_sitter import Parser

LONGEST = 10_000
TOO_LONG = 200_000
DEEPEST = 4
SEPARATORS = re.compile(r"[;&|\n(){}`]+|\$\(|<\(|>\(|\bdo\b|\bthen\b|\belse\b")
JOINED = re.compile(r"(?<!(?<!\\)[ \t])\\\n")
ASSIGNED = re.compile(r"(?:\w+=\S*\s+)+")


@dataclass(frozen=True, slots=True)
class Understanding:
    """What is known of a command before it runs."""

    facts: Facts
    critical: str = ""
    """What of it deletes too much to be let through by anybody but a person; empty where nothing does."""
    programs: frozenset[str] = frozenset()


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # tree_sitter takes 50 ms to import; only a session that runs commands should pay for it.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def understand(command: str, cwd: str | os.PathLike[str], home: str | None = None) -> Understanding:
    """What a command would do in a working directory. It is a function of the command and the files that it names."""
    start = os.fspath(cwd)
    walk = walk_text(command, Place(start, home or os.path.expanduser("~"), (start,)))
    deed = walk.deed
    read_only = not deed.reason
    facts = Facts(
        read_only=read_only,
        concurrency_safe=read_only,
        open_world=deed.open_world or not deed.known,
        destructive=deed.destructive or bool(deed.critical),
        reads=_paths(deed.reads),
        writes=_paths(deed.writes),
        deletes=_paths(deed.deletes),
        hosts=tuple(dict.fromkeys(deed.hosts)),
        parts=tuple(walk.parts.values()) or (Part(command, read_only=read_only),),
        reason=deed.reason,
    )
    return Understanding(facts, deed.critical, frozenset(walk.programs))


def _paths(found: list[str]) -> tuple[Path, ...]:
    return tuple(map(Path, dict.fromkeys(found)))


def walk_text(command: str, place: Place, depth: int = 0) -> Walk:
    """Parse a command and walk over it."""
    source = command.encode("utf-8", "surrogateescape")
    if (hidden := _hidden(command)) is not None:
        walk = Walk(b"", place, depth)
        walk.deed.refuse(f"It holds {hidden}, which hides what it does.")
        walk.add(_whole(command))
        return walk
    walk = Walk(source, place, depth)
    if len(command) > TOO_LONG:
        walk.deed.refuse(f"It is longer than {LONGEST:,} characters.")
        walk.add(_whole(command))
        return walk
    root = _parser().parse(source).root_node
    try:
        walk.statement(root)
    except RecursionError:
        walk.exhausted = True
        walk.deed.refuse("It is nested too deeply to follow.")
    if JOINED.search(command):
        # bash joins what stands on both sides of such a line break; the grammar takes it for a space.
        walk.deed.refuse("A line break in the middle of a word hides what it says.")
        _add_joined(walk, command, depth)
    if root.has_error:
        walk.deed.refuse("It cannot be read as a bash command with certainty.")
    if len(command) > LONGEST:
        walk.deed.refuse(f"It is longer than {LONGEST:,} characters.")
    if root.has_error or walk.exhausted or len(command) > LONGEST:
        walk.add(_whole(command))
    return walk


def _add_joined(walk: Walk, command: str, depth: int) -> None:
    """The command as bash reads it across line breaks, for rules that restrict."""
    if depth >= DEEPEST:
        return
    place = Place(walk.place.start, walk.place.home, (walk.place.start,))
    joined = walk_text(command.replace("\\\n", ""), place, depth + 1)
    also = [text for part in joined.parts.values() for text in (part.text, *part.also)]
    walk.add(Part(command, tuple(dict.fromkeys(also)), exact=True))
    absorb(walk.deed, joined.deed)


def _whole(command: str) -> Part:
    """A command that was not understood, with everything in it that may be one, for rules that restrict."""
    pieces = (piece.strip() for piece in SEPARATORS.split(command))
    found = [piece for piece in pieces if piece]
    found += [piece.replace(",", " ") for piece in found if "," in piece]  # What braces make of it.
    found += [ASSIGNED.sub("", piece, count=1) for piece in found if ASSIGNED.match(piece)]
    return Part(command, tuple(dict.fromkeys(found)), exact=True)


def _hidden(command: str) -> str | None:
    if command.isascii():
        return "a control character" if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", command) else None
    for sign in command:
        if sign not in "\n\t " and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"):
            return f"the invisible character U+{ord(sign):04X}"
    return None
