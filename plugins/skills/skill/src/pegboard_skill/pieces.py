"""The text of a skill in pieces: what is text, what is a command to run, and which files it mentions."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(!?)")
COMMAND = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`")
SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
FILE = re.compile(r"(?:^|(?<=[\s(]))@((?:[^\s\\`]|\\ )+)")
TRAILING = ".,;:!?)\"'"


class Piece(NamedTuple):
    """A part of a text."""

    text: str
    is_command: bool = False
    is_code: bool = False
    """Whether it is in a code block, where nothing means anything."""


def pieces_of(body: str) -> list[Piece]:
    """The text in order. Commands are `` !`…` `` and blocks that begin with ```` ```! ````."""
    found: list[Piece] = []
    block: list[str] = []
    fence, runs = "", False
    for line in body.splitlines(keepends=True):
        match = FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                found.append(Piece("".join(block), True) if runs else Piece("".join((*block, line)), is_code=True))
                fence, block = "", []
            else:
                block.append(line)
        elif match:
            fence, runs = match[1], bool(match[2])
            block = [] if runs else [line]
        else:
            found += _in_line(line)
    if block:  # A block without its end is code, whatever it wanted to be.
        found.append(Piece("".join(block), is_code=True))
    return found


def _in_line(line: str) -> list[Piece]:
    found: list[Piece] = []
    end = 0
    for match in COMMAND.finditer(line):
        found += [Piece(line[end : match.start()]), Piece(match[1], True)]
        end = match.end()
    return [*found, Piece(line[end:])]


def files_in(text: str) -> list[str]:
    """The paths after each `@` that begins a word outside code. Not each of them need be a file."""
    bare = SPAN.sub(lambda span: " " * len(span[0]), text)
    return [match[1].replace("\\ ", " ").rstrip(TRAILING) for match in FILE.finditer(bare)]
