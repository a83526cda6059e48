"""Redirects: files that a command reads and writes without naming them as its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard_bash.effects import Effects
from pegboard_bash.patterns import matches
from pegboard_bash.words import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from pegboard_bash.walk import Walk

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
CLOSING = frozenset({">&-", "<&-"})
NAMED = re.compile(rb"\{\w+(\[[^\]]*\])?\}\Z")
DELIMITER = re.compile(r"\w+|'\w+'|\"\w+\"")


class Redirects:
    """The redirects of one walk."""

    __slots__ = ("texts", "walk")

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.texts: list[str] = []
        """What is given to the command as its input: a shell would run it."""

    def all(self, nodes: list[Node]) -> list[Word]:
        """Note what redirects read and write. Words after a target belong to the command; they come back."""
        extra: list[Word] = []
        for node in nodes:
            if node.type == "file_redirect":
                extra += self._file(node)
            elif node.type == "herestring_redirect":
                extra += self._herestring(node)
            elif node.type == "heredoc_redirect":
                extra += self._heredoc(node)
            elif node.is_named:
                self.walk.refuse_whole(node, f"The syntax {node.type.replace('_', ' ')} is not understood here.")
                self.walk.nested(node)
        return extra

    def rest(self, node: Node) -> None:
        """Commands on the line of a here-document, which the parser puts inside it."""
        for redirect in node.children:
            if redirect.type == "heredoc_redirect":
                for child in redirect.children:
                    if child.type in ("pipeline", "list", "command", "redirected_statement"):
                        self.walk.statement(child)

    def _file(self, node: Node) -> list[Word]:
        operator, words = "", list[Word]()
        if NAMED.search(self.walk.source[: node.start_byte]):
            self.walk.refuse_whole(node, "A redirect sets a variable of the shell.")
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named:
                operator = child.type
            else:
                self.walk.nested(child)
                words += self.walk.speller.words(child)
        self.walk.record.redirect(node, operator, words[:1] if operator not in CLOSING else [])
        if operator in CLOSING:
            return words
        if not words:
            self.walk.refuse_whole(node, "A redirect has no target.")
            return []
        self._target(operator, words[0], node)
        return words[1:]

    def _target(self, operator: str, word: Word, node: Node) -> None:
        effects, duplicates = Effects(self.walk.place, "A redirect"), word.text.isdigit() or word.text == "-"
        if operator in (">&", "<&") and duplicates and word.literal:
            return
        if word.glob or not word.literal:
            self.walk.refuse_whole(node, f"The target of the redirect to {word.source} is known only when it runs.")
        elif operator == "<":
            effects.read(word)
        elif operator in WRITING or operator == ">&":
            effects.write(word)
        else:
            self.walk.refuse_whole(node, f"The redirect {operator} is not understood.")
        for path in (*effects.writes, *effects.reads):
            if path.startswith(("/dev/tcp/", "/dev/udp/")):
                effects.open_world = True
                effects.refuse(f"{path} is a network connection.")
        self._keep(effects)

    def _keep(self, effects: Effects) -> None:
        whole = self.walk.effects
        whole.reads += effects.reads
        whole.writes += effects.writes
        whole.reason = whole.reason or effects.reason
        whole.known = whole.known and effects.known
        if effects.writes and self.walk.place.moved:
            whole.refuse("It writes a file after a cd.")

    def _herestring(self, node: Node) -> list[Word]:
        named = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
        words: list[Word] = []
        for child in named:
            self.walk.nested(child)
            words += self.walk.speller.words(child)
        self.walk.record.redirect(node, "<<<", words[:1])
        self.texts += [word.text.replace(UNKNOWN, " ") for word in words[:1]]
        return words[1:]

    def _heredoc(self, node: Node) -> list[Word]:
        start = node.child_by_field_name("start") or _child(node, "heredoc_start")
        end, body = _child(node, "heredoc_end"), _child(node, "heredoc_body")
        speller, extra = self.walk.speller, list[Word]()
        delimiter = speller.slice(start.start_byte, start.end_byte) if start else ""
        if start is None or end is None or not DELIMITER.fullmatch(delimiter) or not self._ends_there(node, start, end):
            self.walk.refuse_whole(node, "The end of the here-document is not certain.")
        elif body is None or body.end_byte <= end.start_byte:
            self.walk.record.document(node, delimiter.strip("'\""), start, end)
        if body is not None:
            self.texts.append(speller.slice(body.start_byte, body.end_byte))
        if body is not None and delimiter[:1] not in "'\"":
            if re.search(r"[`$\\]", speller.slice(body.start_byte, body.end_byte)):
                self.walk.refuse_whole(node, "The shell expands this here-document. Quote its delimiter.")
            self.walk.nested(body)
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                extra += self.all([child])
            elif child.type in ("word", "string", "raw_string", "concatenation", "number"):
                self.walk.nested(child)
                extra += speller.words(child)
            elif child.type == "&":
                self.walk.refuse_whole(node, "Part of it continues in the background.")
            elif not child.is_named:
                self.walk.record.token(child)
        return extra

    def _ends_there(self, node: Node, start: Node, end: Node) -> bool:
        """Whether the first line that is the delimiter is where the parser says the document ends."""
        source = self.walk.source
        delimiter = source[start.start_byte : start.end_byte].strip(b"'\"")
        tabs = node.children[0].type == "<<-" or any(child.type == "<<-" for child in node.children)
        at = source.find(b"\n", start.end_byte) + 1
        while 0 < at <= len(source):
            stop = source.find(b"\n", at)
            line = source[at : stop if stop >= 0 else len(source)]
            if (line.lstrip(b"\t") if tabs else line) == delimiter:
                return at + (len(line) - len(line.lstrip(b"\t")) if tabs else 0) == end.start_byte
            if stop < 0:
                return False
            at = stop + 1
        return False

    def expanded(self, word: Word, most: int) -> list[str] | None:
        """The files that a pattern matches now, as the shell would name them; None if there are too many."""
        found: list[str] = []
        for cwd in self.walk.place.cwds:
            matched = matches(word, cwd, most)
            if matched is None:
                return None
            found += matched
        return found or [word.text]


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.children if child.type == kind), None)
