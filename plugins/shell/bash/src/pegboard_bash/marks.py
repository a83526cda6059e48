"""What the walk over the syntax tree looked at, in the form in which another reading of the same text is compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pegboard_bash.words import Mark, Speller, Word

if TYPE_CHECKING:
    from tree_sitter import Node

UNMARKED = frozenset({";", "\n", "<<", "<<-", ";;"})
"""Signs between statements. Where one of them ends a command, the next one has a mark of its own."""

LEAVES = frozenset({"word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion"})


class Marks:
    """Marks of the words, commands, redirects and signs that were judged, and the places that were given up."""

    __slots__ = ("marks", "spans", "speller")

    def __init__(self, speller: Speller) -> None:
        self.speller = speller
        self.marks: set[tuple[Any, ...]] = set()
        self.spans: list[tuple[int, int]] = []
        """From where to where the walk gave up: there it asks, whatever another reading says."""

    def token(self, node: Node) -> None:
        """A sign or keyword."""
        if node.type not in UNMARKED:
            text = self.speller.slice(node.start_byte, node.end_byte)
            self.marks.add((self.speller.place(node.start_byte), text))

    def value(self, words: Iterable[Word]) -> None:
        """A word that a loop goes over."""
        self.marks |= {("value", word.mark) for word in words}

    def command(self, assignments: list[Mark], words: list[Word]) -> None:
        """A simple command. Words that braces expanded from one word count once."""
        marks: list[Mark | None] = [*assignments]
        for word in words:
            if word.mark is None or not marks or word.mark != marks[-1]:
                marks.append(word.mark)
        if marks:
            self.marks.add(("command", tuple(marks)))

    def assignment(self, node: Node) -> Mark:
        """A variable that is set before a command."""
        value = node.children[-1]
        valued = value.type not in ("=", "+=")
        name = self.speller.slice(node.start_byte, value.start_byte if valued else value.end_byte)
        return self.speller.assigned(node, name, value if valued else None)

    def redirect(self, node: Node, operator: str, words: list[Word]) -> None:
        """A redirect with its target."""
        marks = [word.mark for word in words]
        self.marks.add(("redirect", self.speller.place(node.start_byte), operator, *marks))

    def document(self, node: Node, delimiter: str, start: Node, end: Node) -> None:
        """A here-document: where it was begun, and from where to where its body goes."""
        source = self.speller.source
        first = source.find(b"\n", start.end_byte) + 1
        line = source.rfind(b"\n", 0, end.start_byte) + 1
        place = self.speller.place
        self.marks.add(("document", place(node.start_byte), delimiter, place(first), place(line)))

    def test(self, node: Node) -> None:
        """`[[ … ]]`, and `[ … ]`, which is a command like others."""
        found: list[object] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in LEAVES:
                found += dict.fromkeys(word.mark for word in self.speller.words(child))
            elif child.children:
                stack += reversed(child.children)
            else:
                text = self.speller.slice(child.start_byte, child.end_byte)
                found.append((self.speller.place(child.start_byte), text))
        if found and self.speller.slice(node.start_byte, node.start_byte + 2) == "[[":
            self.marks.add(("[[", self.speller.place(node.start_byte), tuple(found[1:])))
        else:
            self.marks.add(("command", tuple(found)))

    def leave_out(self, node: Node) -> None:
        """A place that is given up."""
        place = self.speller.place
        self.spans.append((place(node.start_byte), place(node.end_byte)))
