"""Words of a command: what bash would make of a spelling, or the honest answer that nobody can know beforehand."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import pairwise, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = "\0"
"""Stands in a word for what only the running shell knows. No command that is read holds a NUL byte itself."""

SUBSTITUTED = "/dev/fd/63"
"""How `<(…)` reaches a command: as the name of a pipe."""

PLAIN = re.compile(r"[\w./:=@%+,^-]+", re.ASCII)
GLOB = frozenset("*?[")
MOST_WORDS = 64
NUMERIC = frozenset("?#$!")
ARITHMETIC = re.compile(r"\$\(\([\d\s+*/%()<>!&|^~?:-]*\)\)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
ESCAPES |= {"\\": "\\", "'": "'", '"': '"', "?": "?"}
ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


class Word:
    """One word after quotes, `~` and braces: its text, and whether the shell may still change it."""

    __slots__ = ("glob", "literal", "source", "text")

    def __init__(self, text: str, source: str = "", literal: bool = True, glob: bool = False) -> None:
        self.text, self.source = text, source or text
        self.literal, self.glob = literal, glob

    def __repr__(self) -> str:
        return f"Word({self.text!r}{'' if self.literal else ', unknown'}{', glob' if self.glob else ''})"


class Spelling:
    """A word under construction: characters, and for each whether quotes protect it from the shell."""

    __slots__ = ("known", "mask", "text")

    def __init__(self) -> None:
        self.text, self.mask, self.known = "", "", True

    def add(self, text: str, *, quoted: bool) -> None:
        """Append characters."""
        self.text += text
        self.mask += ("q" if quoted else "u") * len(text)

    def add_unknown(self) -> None:
        """Append something that only the running shell knows."""
        self.add(UNKNOWN, quoted=True)
        self.known = False


def names(text: str) -> frozenset[str]:
    """A set of names, written as one text so that a table stays readable."""
    return frozenset(text.split())


def plain(text: str) -> bool:
    """Whether a word means exactly what it says, whatever the shell does."""
    return PLAIN.fullmatch(text) is not None


class Speller:
    """Reads words from the syntax tree of one command text."""

    __slots__ = ("home", "source", "variables")

    def __init__(self, source: bytes, home: str, variables: Mapping[str, str]) -> None:
        self.source, self.home, self.variables = source, home, variables

    def slice(self, start: int, end: int) -> str:
        """The source between two byte positions."""
        return self.source[start:end].decode("utf-8", "surrogateescape")

    def words(self, node: Node) -> list[Word]:
        """The words that a node becomes: one, or several where braces are expanded."""
        source = self.slice(node.start_byte, node.end_byte)
        if node.type in ("word", "number") and PLAIN.fullmatch(source):
            return [Word(source)]
        spelling = Spelling()
        self._spell(node, spelling)
        if not spelling.known:
            return [Word(spelling.text, source, literal=False, glob=_globs(spelling))]
        spelled = _braces(spelling)
        if spelled is None:
            return [Word(spelling.text, source, literal=False)]
        return [self._finished(each, source) for each in spelled]

    def _finished(self, spelling: Spelling, source: str) -> Word:
        text, literal = spelling.text, spelling.known
        if text[:1] == "~" and spelling.mask[0] == "u":
            if text == "~" or text.startswith("~/"):
                text = self.home + text[1:]
            else:
                literal = False
        return Word(text, source, literal, _globs(spelling))

    def _spell(self, node: Node, into: Spelling) -> None:
        kind = node.type
        if kind in ("word", "number", "variable_name", "brace_expression", "test_operator"):
            self._unquoted(self.slice(node.start_byte, node.end_byte), into)
        elif kind == "raw_string":
            into.add(self.slice(node.start_byte + 1, node.end_byte - 1), quoted=True)
        elif kind == "string":
            self._string(node, into)
        elif kind == "concatenation":
            self._concatenation(node, into)
        elif kind == "ansi_c_string":
            self._ansi(self.slice(node.start_byte + 2, node.end_byte - 1), into)
        elif kind in ("simple_expansion", "expansion"):
            self._variable(node, into, quoted=False)
        elif kind == "process_substitution" and node.children[0].type == "<(":
            into.add(SUBSTITUTED, quoted=True)
        elif kind == "arithmetic_expansion" and ARITHMETIC.fullmatch(self.slice(node.start_byte, node.end_byte)):
            into.add("0", quoted=True)
        else:
            into.add_unknown()

    def _concatenation(self, node: Node, into: Spelling) -> None:
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                into.add_unknown()
            self._spell(child, into)
            at = child.end_byte

    def _unquoted(self, text: str, into: Spelling) -> None:
        escaped = False
        for sign in text:
            if escaped:
                escaped = False
                if sign != "\n":
                    into.add(sign, quoted=True)
            elif sign == "\\":
                escaped = True
            elif sign in "$`\"'<>|&;()":
                into.add_unknown()
            else:
                into.add(sign, quoted=False)
        if escaped:
            into.add_unknown()

    def _string(self, node: Node, into: Spelling) -> None:
        at, end = node.start_byte + 1, node.end_byte - 1
        for child in node.children:
            if child.type in ('"', "string_content", "$"):
                continue  # A lone dollar sign is text, and is looked at with the text around it.
            self._in_quotes(self.slice(at, child.start_byte), into)
            if child.type in ("simple_expansion", "expansion"):
                self._variable(child, into, quoted=True)
            elif child.type == "arithmetic_expansion":
                self._spell(child, into)
            else:
                into.add_unknown()
            at = child.end_byte
        self._in_quotes(self.slice(at, end), into)

    def _in_quotes(self, text: str, into: Spelling) -> None:
        """Text between double quotes. What still looks like an expansion was not seen as one by the parser: doubt."""
        at = 0
        while at < len(text):
            sign = text[at]
            if sign == "\\" and at + 1 < len(text):
                follows = text[at + 1]
                if follows != "\n":
                    into.add(follows if follows in '$`"\\' else sign + follows, quoted=True)
                at += 2
                continue
            if sign in '`"\\' or (sign == "$" and re.match(r"[\w{(\['\"@*#?!$-]", text[at + 1 : at + 2])):
                into.add_unknown()
            else:
                into.add(sign, quoted=True)
            at += 1

    def _ansi(self, text: str, into: Spelling) -> None:
        at = 0
        for found in ANSI.finditer(text):
            into.add(text[at : found.start()], quoted=True)
            code, at = found[1], found.end()
            if code in ESCAPES:
                into.add(ESCAPES[code], quoted=True)
            elif code[0] == "x" and len(code) > 1 and 0 < int(code[1:], 16) < 128:
                into.add(chr(int(code[1:], 16)), quoted=True)
            elif code[0] in "01234567" and 0 < int(code, 8) < 128:
                into.add(chr(int(code, 8)), quoted=True)
            else:
                into.add_unknown()
        into.add(text[at:], quoted=True)

    def _variable(self, node: Node, into: Spelling, *, quoted: bool) -> None:
        """A variable whose value is known: one of a `for` over plain words, HOME, or a number such as `$?`."""
        source = self.slice(node.start_byte, node.end_byte)
        name = source[2:-1] if source.startswith("${") else source[1:]
        if name in NUMERIC and not source.startswith("${"):
            into.add("0", quoted=True)
            return
        value = self.variables.get(name)
        if value is None or not (quoted or plain(value)):
            into.add_unknown()
        else:
            into.add(value, quoted=True)


def _globs(spelling: Spelling) -> bool:
    return any(sign in GLOB and how == "u" for sign, how in zip(spelling.text, spelling.mask, strict=True))


def _braces(spelling: Spelling) -> list[Spelling] | None:
    """The words that braces make: `{a,b}` and `{1..3}`, not nested. None where it is more than that."""
    text, mask = spelling.text, spelling.mask
    opened = [at for at, sign in enumerate(text) if sign in "{}" and mask[at] == "u"]
    if not opened:
        return [spelling]
    pieces: list[list[Spelling]] = []
    at = 0
    for left, right in zip(opened[::2], opened[1::2], strict=False):
        choices = _choices(text, mask, left, right) if text[left] + text[right] == "{}" else None
        if choices is None:
            return None
        pieces += [[_part(text, mask, at, left)], choices]
        at = right + 1
    if len(opened) % 2:
        return None
    pieces.append([_part(text, mask, at, len(text))])
    count = 1
    for piece in pieces:
        count *= len(piece)
    return [_joined(combination) for combination in product(*pieces)] if count <= MOST_WORDS else None


def _choices(text: str, mask: str, left: int, right: int) -> list[Spelling] | None:
    cuts = [at for at in range(left + 1, right) if text[at] == "," and mask[at] == "u"]
    if cuts:
        edges = [left, *cuts, right]
        return [_part(text, mask, begin + 1, end) for begin, end in pairwise(edges)]
    span = re.fullmatch(r"(\d{1,4})\.\.(\d{1,4})", text[left + 1 : right])
    if span and span[1][0] != "0" and abs(int(span[2]) - int(span[1])) < MOST_WORDS:
        step = 1 if int(span[1]) <= int(span[2]) else -1
        return [_made(str(number)) for number in range(int(span[1]), int(span[2]) + step, step)]
    return None if ".." in text[left:right] else [_part(text, mask, left, right + 1)]


def _part(text: str, mask: str, begin: int, end: int) -> Spelling:
    made = Spelling()
    made.text, made.mask = text[begin:end], mask[begin:end]
    return made


def _made(text: str) -> Spelling:
    made = Spelling()
    made.add(text, quoted=True)
    return made


def _joined(parts: tuple[Spelling, ...]) -> Spelling:
    made = Spelling()
    made.text = "".join(part.text for part in parts)
    made.mask = "".join(part.mask for part in parts)
    return made


def absolute(text: str, folder: str) -> str:
    """A path as it is opened from a folder. `..` stays: behind a link it means another folder than the text says."""
    return text if text.startswith("/") else os.path.join(folder, text)
