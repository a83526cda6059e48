"""From a command to facts: what it would do, said before it does it."""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from pegboard import Facts, Part
from pegboard_bash.canonical import problem_with_bash
from pegboard_bash.compare import add_second_reading, compare
from pegboard_bash.effects import FolderTree, ShellState
from pegboard_bash.render import one_line
from pegboard_bash.second_reading import is_plain, needs_bash, second_reading
from pegboard_bash.simple import absorb, read_command
from pegboard_bash.tree import LONGEST, syntax_tree
from pegboard_bash.walk import Walk
from pegboard_bash.words import Word

log = logging.getLogger("pegboard")
FAILED = "It could not be parsed because of an error in Pegboard; see the log."
UNCONFINED = "It is not confined, so only plain words, pipes and lists are considered read-only."
DEEPEST = 4
LONGEST_TO_RUN = 131_072
"""Linux starts no program with an argument of so many bytes, nor with a NUL in it: what is not read cannot run."""
SHELL_VARIABLES = ("BASHOPTS", "SHELLOPTS", "GLOBIGNORE", "POSIXLY_CORRECT")
MOST_QUOTED = 80
SEPARATORS = re.compile(r"[;&|\n(){}`]+|\$\(|<\(|>\(|\bdo\b|\bthen\b|\belse\b")
JOINED = re.compile(r"(?<!(?<!\\)[ \t])\\\n")
MOST_WORDS = 64
QUOTES = re.compile(r"\$(?=[\"'])|[\"'\\]")
REDIRECTED = re.compile(r"(<(?!<)|>[>|]?)[ \t]*([^\s<>]+)")
ASSIGNED = re.compile(r"(?:\w+=\S*\s+)+")


@dataclass(frozen=True, slots=True)
class Understanding:
    """What is known of a command before it runs."""

    facts: Facts
    critical: str = ""
    """The part of it that deletes so much that only a person may approve it; empty if there is none."""
    programs: frozenset[str] = frozenset()
    trees: tuple[FolderTree, ...] = ()
    """Folders that it reads with all below them."""


def understand(
    command: str, cwd: str | os.PathLike[str], home: str | None = None, *, confined: bool = True
) -> Understanding:
    """What a command would do in a working directory. It is a function of the command and the files that it names.

    `confined`: whether what only reads is run where it can do nothing else. Without that only the closed subset of
    plain words, pipes and lists is taken for reading.
    """
    try:
        return _understood(command, os.fspath(cwd), home, confined)
    except Exception:
        return not_understood(command)


def not_understood(command: str) -> Understanding:
    """What is left to say where understanding a command failed: it asks, and rules that restrict see its pieces."""
    log.exception("A command could not be analysed, so it asks.")
    facts = Facts(read_only=False, open_world=True, parts=(_whole(command),), reason=FAILED)
    return Understanding(facts, programs=frozenset(re.findall(r"\w+", command)))


def _understood(command: str, start: str, home: str | None, confined: bool) -> Understanding:
    walk = walk_text(command, ShellState(start, home or os.path.expanduser("~"), (start,)))
    if changed := _changed_by_environment(walk.programs):
        walk.effects.refuse(f"{changed} in the environment changes how bash parses commands.")
    if not confined and not walk.effects.reason and not is_plain(command):
        walk.effects.refuse(UNCONFINED)
    effects = walk.effects
    read_only = not effects.reason
    facts = Facts(
        read_only=read_only,
        concurrency_safe=read_only,
        open_world=effects.open_world or not effects.known,
        destructive=effects.destructive or bool(effects.critical),
        reads=_paths(effects.reads),
        writes=_paths(effects.writes),
        deletes=_paths(effects.deletes),
        hosts=tuple(dict.fromkeys(effects.hosts)),
        parts=tuple(walk.parts.values()) or (Part(command, read_only=read_only),),
        reason=_in_quotes(effects.reason, command),
    )
    return Understanding(facts, effects.critical, frozenset(walk.programs), tuple(effects.trees))


def _changed_by_environment(programs: Iterable[str]) -> str:
    """A variable that makes another language of bash's, or another program of a name; empty where there is none."""
    functions = (f"BASH_FUNC_{program}%%" for program in programs)
    return next((name for name in (*SHELL_VARIABLES, *functions) if name in os.environ), "")


def _in_quotes(reason: str, command: str) -> str:
    """The reason with quotes around what others wrote: a word with blanks could read like the host's own."""
    if not reason or _unreadable(command):
        return reason
    texts = set(second_reading(command).texts())
    for text in sorted(texts, key=len, reverse=True):
        if " " in text.strip() or "\n" in text or "\t" in text:
            reason = reason.replace(text, repr(text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}…"))
    return one_line(reason)


def asks_bash(command: str) -> bool:
    """Whether bash itself will be asked how it reads a command."""
    try:
        return not _unreadable(command) and needs_bash(command)
    except Exception:
        return False  # `understand` meets the same error, and says so.


async def ask_bash(command: str) -> None:
    """Ask bash how it reads a command, away from the event loop. The answer is kept for `understand`."""
    if asks_bash(command):
        await to_thread.run_sync(problem_with_bash, command)


def _paths(found: list[str]) -> tuple[Path, ...]:
    return tuple(map(Path, dict.fromkeys(found)))


def walk_text(command: str, place: ShellState, depth: int = 0) -> Walk:
    """Parse a command, walk over it, and compare with a second reading."""
    if problem := _unreadable(command):
        return _restricted_only(command, problem, Walk(_encoded(command), place, depth))
    walk = Walk(command.encode("utf-8", "surrogateescape"), place, depth)
    _first_reading(walk, command)
    compare(walk, command)
    return walk


def _restricted_only(command: str, problem: str, walk: Walk) -> Walk:
    """A command that asks whatever it does. It is read all the same, for rules that restrict commands and files."""
    walk.effects.refuse(problem)
    walk.exhausted = True
    walk.add(_whole(command))
    if len(command) < LONGEST_TO_RUN and "\0" not in command:
        text = walk.source.decode()
        _first_reading(walk, text)
        add_second_reading(walk, text)
    walk.collapse(command)
    return walk


def _encoded(command: str) -> bytes:
    """The command in UTF-8. Half a surrogate pair, which has no bytes, becomes a question mark."""
    return command.encode("utf-8", "replace")


def _first_reading(walk: Walk, command: str) -> None:
    root = syntax_tree(command)
    if root is None:
        walk.exhausted = True
        walk.effects.refuse("It has too many parts to follow.")
    else:
        try:
            walk.statement(root)
        except RecursionError:
            walk.exhausted = True
            walk.effects.refuse("It is nested too deeply to follow.")
    if JOINED.search(command):
        # bash joins both sides of such a line break; the grammar treats it as a space.
        walk.effects.refuse("A line break in the middle of a word may hide what the word is.")
        _add_joined(walk, command, walk.depth)
    if root is not None and root.has_error:
        walk.effects.refuse("It cannot be parsed reliably as a bash command.")
    if root is None or root.has_error or walk.exhausted:
        walk.add(_whole(command))
        if second_reading(command).doubt:
            _add_pieces(walk, command)


def _unreadable(command: str) -> str:
    """Why a command is not read at all, as a sentence. The length comes first: nothing below it is free."""
    if len(command) > LONGEST:
        return f"It is longer than {LONGEST:,} characters."
    hidden = _hidden(command)
    return f"It contains {hidden}, which hides what it does." if hidden else ""


def _add_joined(walk: Walk, command: str, depth: int) -> None:
    """The command as bash reads it across line breaks, for rules that restrict."""
    if depth >= DEEPEST:
        return
    place = ShellState(walk.place.start, walk.place.home, (walk.place.start,), walk.place.bound)
    joined = walk_text(command.replace("\\\n", ""), place, depth + 1)
    also = [text for part in joined.parts.values() for text in (part.text, *part.also)]
    walk.add(Part(command, tuple(dict.fromkeys(also)), exact=True))
    absorb(walk.effects, joined.effects)


def _whole(command: str) -> Part:
    """A command that was not understood, with everything in it that may be one, for rules that restrict."""
    pieces = (piece.strip() for piece in SEPARATORS.split(command))
    found = [piece for piece in pieces if piece]
    found += [piece.replace(",", " ") for piece in found if "," in piece]  # What braces expand it to.
    found += [ASSIGNED.sub("", piece, count=1) for piece in found if ASSIGNED.match(piece)]
    return Part(command, tuple(dict.fromkeys(found)), exact=True)


def _add_pieces(walk: Walk, command: str) -> None:
    """The pieces of a command that no reading got to the end of, without their quotes, for rules that restrict."""
    also: list[str] = []
    for piece in dict.fromkeys(SEPARATORS.split(command)):
        words = [Word(word) for word in QUOTES.sub("", REDIRECTED.sub(" ", piece)).split()]
        if words:
            reading = read_command(words, walk.place, walk.depth)
            absorb(walk.effects, reading.effects)
            also += [reading.text, *reading.also]
            if reading.effects.subtexts:  # A script has lost its quotes as well: each of its words may be a program.
                also += [" ".join(word.text for word in words[at:]) for at in range(1, min(len(words), MOST_WORDS))]
        for sign, target in REDIRECTED.findall(piece):
            name = Word(QUOTES.sub("", target))
            walk.effects.write(name) if ">" in sign else walk.effects.read(name)
    walk.add(Part(command, tuple(dict.fromkeys(also)), exact=True))


def _hidden(command: str) -> str | None:
    if command.isascii():
        return "a control character" if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", command) else None
    for sign in command:
        if sign not in "\n\t " and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"):
            return f"the invisible character U+{ord(sign):04X}"
    return None
