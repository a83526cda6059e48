"""Words of a command: what bash expands a word to, or that this is not known before it runs."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pegboard_bash.word_builder import (
    UNKNOWN,
    Shape,
    WordBuilder,
    add_ansi,
    expand_braces,
    has_late_tilde,
    is_pattern,
)

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["SUBSTITUTED", "UNKNOWN", "Mark", "Speller", "Word", "absolute", "finished", "mark_of", "names", "plain"]

SUBSTITUTED = "/dev/fd/63"
"""How `<(…)` reaches a command: as the name of a pipe."""

Mark = tuple[int, str] | tuple[int, str, Shape]
"""A word as a reading found it: where it begins, its source, and its shape if that has quotes or holes."""

PLAIN = re.compile(r"[\w./:=@%+,^-]+", re.ASCII)
ORDINARY = re.compile(r"""[^\\$`"'<>|&;()]+""")
IN_QUOTES = re.compile(r"""[^\\$`"]+""")
ARITHMETIC = re.compile(r"\$\(\([\d\s+*/%()<>!&|^~?:-]*\)\)")


class Word:
    """One word after quotes, `~` and braces: its text, and whether the shell may still change it."""

    __slots__ = ("glob", "literal", "mark", "source", "text")

    def __init__(self, text: str, source: str = "", literal: bool = True, glob: bool = False) -> None:
        self.text, self.source = text, source or text
        self.literal, self.glob = literal, glob
        self.mark: Mark | None = None
        """The word of the source that it came from."""

    def __repr__(self) -> str:
        return f"Word({self.text!r}{'' if self.literal else ', unknown'}{', glob' if self.glob else ''})"


def names(text: str) -> frozenset[str]:
    """A set of names, written as one text so that a table stays readable."""
    return frozenset(text.split())


def plain(text: str) -> bool:
    """Whether a word means exactly what it says, whatever the shell does."""
    return PLAIN.fullmatch(text) is not None


def mark_of(start: int, source: str, spelling: WordBuilder) -> Mark:
    """How a word is compared between two readings."""
    if all(how == "u" for _, how in spelling.pieces):
        return (start, source)
    return (start, source, spelling.shape)


def finished(spelling: WordBuilder, source: str, home: str) -> list[Word]:
    """What braces, `~` and patterns expand a word to: one word, or several."""
    text, mask = spelling.text, spelling.mask
    if not spelling.known:
        return [Word(text, source, literal=False, glob=is_pattern(text, mask))]
    spelled = expand_braces(text, mask)
    if spelled is None:
        return [Word(text, source, literal=False)]
    return [_finished(*each, source, home) for each in spelled]


def _finished(text: str, mask: str, source: str, home: str) -> Word:
    literal = True
    if text[:1] == "~" and mask[0] == "u":
        # Quotes anywhere before the first slash keep the `~` as it is, so only the plain spellings are resolved.
        literal = source == "~" or source.startswith("~/")
        text, mask = home + text[1:], "q" * len(home) + mask[1:]
    elif has_late_tilde(text, mask):
        literal = False
    return Word(text, source, literal, is_pattern(text, mask))


class Speller:
    """Reads words from the syntax tree of one command text."""

    __slots__ = ("_starts", "home", "source", "variables")

    def __init__(self, source: bytes, home: str, variables: Mapping[str, str]) -> None:
        self.source, self.home, self.variables = source, home, variables
        self._starts = None if source.isascii() else [at for at, byte in enumerate(source) if byte & 0xC0 != 0x80]

    def place(self, byte: int) -> int:
        """Which character of the text begins at a byte."""
        return byte if self._starts is None else bisect_left(self._starts, byte)

    def slice(self, start: int, end: int) -> str:
        """The source between two byte positions."""
        return self.source[start:end].decode("utf-8", "surrogateescape")

    def words(self, node: Node) -> list[Word]:
        """The words that a node becomes: one, or several where braces are expanded."""
        source = self.slice(node.start_byte, node.end_byte)
        if node.type in ("word", "number") and PLAIN.fullmatch(source):
            word = Word(source)
            word.mark = (self.place(node.start_byte), source)
            return [word]
        spelling = WordBuilder()
        self._spell(node, spelling)
        found = finished(spelling, source, self.home)
        for word in found:  # Words from braces share one mark.
            word.mark = mark_of(self.place(node.start_byte), source, spelling)
        return found

    def assigned(self, node: Node, name: str, value: Node | None) -> Mark:
        """How an assignment before a command is compared: as the one word that it is."""
        spelling = WordBuilder()
        spelling.add(name, quoted=False)
        if value is not None:
            self._spell(value, spelling)
        return mark_of(self.place(node.start_byte), self.slice(node.start_byte, node.end_byte), spelling)

    def _spell(self, node: Node, into: WordBuilder) -> None:
        kind = node.type
        if kind in ("word", "number", "variable_name", "brace_expression", "test_operator"):
            self._unquoted(self.slice(node.start_byte, node.end_byte), into)
        elif kind == "raw_string":
            into.add(self.slice(node.start_byte + 1, node.end_byte - 1), quoted=True)
        elif kind == "string":
            self._string(node, into)
        elif kind == "translated_string":
            self._string(node.children[-1], into)
            into.add_unknown()
        elif kind == "concatenation":
            self._concatenation(node, into)
        elif kind == "ansi_c_string":
            add_ansi(self.slice(node.start_byte + 2, node.end_byte - 1), into)
        elif kind in ("simple_expansion", "expansion"):
            self._variable(node, into, quoted=False)
        elif kind == "process_substitution":
            opening = node.children[0].type
            into.add_hole(opening, SUBSTITUTED if opening == "<(" else None)
        elif kind in ("command_substitution", "arithmetic_expansion"):
            self._substitution(node, into, quoted=False)
        else:
            into.add_unknown()

    def _concatenation(self, node: Node, into: WordBuilder) -> None:
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                into.add_unknown()
            self._spell(child, into)
            at = child.end_byte

    def _unquoted(self, text: str, into: WordBuilder) -> None:
        at = 0
        while at < len(text):
            if found := ORDINARY.match(text, at):
                into.add(found[0], quoted=False)
                at = found.end()
            elif text[at] == "\\" and at + 1 < len(text):
                if text[at + 1] != "\n":
                    into.add(text[at + 1], quoted=True)
                at += 2
            else:
                into.add_unknown()
                at += 1

    def _string(self, node: Node, into: WordBuilder) -> None:
        at, end = node.start_byte + 1, node.end_byte - 1
        for child in node.children:
            if child.type in ('"', "string_content", "$"):
                continue  # A lone dollar sign is text, and is looked at with the text around it.
            self._in_quotes(self.slice(at, child.start_byte), into)
            if child.type in ("simple_expansion", "expansion"):
                self._variable(child, into, quoted=True)
            elif child.type in ("command_substitution", "arithmetic_expansion"):
                self._substitution(child, into, quoted=True)
            else:
                into.add_unknown()
            at = child.end_byte
        self._in_quotes(self.slice(at, end), into)

    def _in_quotes(self, text: str, into: WordBuilder) -> None:
        """Text between double quotes. What still looks like an expansion was not seen as one by the parser: doubt."""
        at = 0
        while at < len(text):
            if found := IN_QUOTES.match(text, at):
                into.add(found[0], quoted=True)
                at = found.end()
                continue
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

    def _substitution(self, node: Node, into: WordBuilder, *, quoted: bool) -> None:
        source = self.slice(node.start_byte, node.end_byte)
        into.add_hole(source if node.type == "arithmetic_expansion" else node.children[0].type, quoted=quoted)

    def _variable(self, node: Node, into: WordBuilder, *, quoted: bool) -> None:
        """A variable whose value is known: one of a `for` over plain words, or HOME."""
        source = self.slice(node.start_byte, node.end_byte)
        name = source[2:-1] if source.startswith("${") else source[1:]
        value = self.variables.get(name)
        into.add_hole(f"${name}", value if quoted or (value and plain(value)) else None, quoted=quoted)


def absolute(text: str, folder: str) -> str:
    """A path as it is opened from a folder. `..` stays: behind a link it means another folder than the text says."""
    return text if text.startswith("/") else os.path.join(folder, text)
