"""How a program may read what is typed: Enter has two characters, keys change the line, and a line comes in pieces."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pegboard_bash.understanding import Understanding
from pegboard_files import TERMINAL_ESCAPE

if TYPE_CHECKING:
    from pegboard_bash.bash import BashInput

LONGEST_UNFINISHED = 8_192
ENTER = re.compile(r"\r\n?")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
FOLLOWED = re.compile(r"[\x03\x04\x08\x15\x17\x1a\x1c\x7f]")
"""Keys whose effect is known: they erase, or they end, stop or hand over the line."""
LAST_WORD = re.compile(r"[^\s]*[^\S\n]*\Z")
ERASE, ERASE_WORD, ERASE_LINE = "\x08\x7f", "\x17", "\x15"

_unfinished: dict[str, str] = {}
"""What was typed into each task, by its id, and not ended with Enter. The next text continues it."""


def unfinished(task_id: str | None) -> str:
    """The beginning of the line that the next text continues."""
    return _unfinished.get(task_id or "", "")


def remember(task_id: str, typed: str, *, whole: bool) -> None:
    """Text was typed; `whole` says whether all of it surely arrived, so that an Enter in it counts."""
    text = unfinished(task_id) + ENTER.sub("\n", typed)
    if whole:
        # After a backslash the line goes on behind the Enter.
        text = re.split(r"(?<!\\)\n", text)[-1]
    _unfinished[task_id] = text[-LONGEST_UNFINISHED:]
    if not text:
        del _unfinished[task_id]


def readings(args: BashInput) -> list[str]:
    """The texts that a program may take for commands. Rules that restrict see all of them."""
    if args.task_id is None:
        return [args.command]
    command = ENTER.sub("\n", args.command)
    line = unfinished(args.task_id) + command
    edited = TERMINAL_ESCAPE.sub("\x00", _edited(line))
    spaced = "".join(sign if sign == "\t" else "\n" if CONTROL.match(sign) else sign for sign in edited)
    return list(dict.fromkeys((command, line, spaced, CONTROL.sub("", edited))))


def why_unclear(args: BashInput) -> str:
    """Why no one can say from the text what the line will be, as a sentence; empty where that can be said."""
    for line in (unfinished(args.task_id) + ENTER.sub("\n", args.command)).split("\n"):
        keys = FOLLOWED.sub("", TERMINAL_ESCAPE.sub("\x1b", line))
        if CONTROL.search(keys) and CONTROL.sub("", keys).strip():
            return "Bash would type keys that change the line, such as arrows or Tab, together with text."
    return ""


def merged(found: list[Understanding]) -> Understanding:
    """What is known of all readings together."""
    return reduce(_both, found)


def _both(one: Understanding, other: Understanding) -> Understanding:
    facts, more = one.facts, other.facts
    together = replace(
        facts,
        destructive=facts.destructive or more.destructive,
        reads=facts.reads + more.reads,
        writes=facts.writes + more.writes,
        deletes=facts.deletes + more.deletes,
        hosts=facts.hosts + more.hosts,
        parts=facts.parts + more.parts,
        reason=facts.reason or more.reason,
    )
    return Understanding(
        together, one.critical or other.critical, one.programs | other.programs, one.trees + other.trees
    )


def _edited(text: str) -> str:
    """The text after the keys that erase have done their work."""
    line: list[str] = []
    for sign in text:
        if sign in ERASE:
            _erase(line, 1)
        elif sign == ERASE_LINE:
            _erase(line, len(line))
        elif sign == ERASE_WORD:
            _erase(line, len(LAST_WORD.search("".join(line))[0]))  # type: ignore[index] # It matches nothing at least.
        else:
            line.append(sign)
    return "".join(line)


def _erase(line: list[str], count: int) -> None:
    """Take so many characters off the end, but not the line before."""
    for _ in range(count):
        if not line or line[-1] == "\n":
            return
        line.pop()
