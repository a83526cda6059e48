"""`for` over plain words: the body is looked at once for each, with the variable known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from pegboard_bash.walk import Walk

OWN_NAME = re.compile(r"[a-z]\w*", re.ASCII)
"""Names that a loop may use: the shell and programs have theirs in capitals, and `_` changes with every command."""

MOST_VALUES = 32


class Loops:
    """The loops of one walk."""

    __slots__ = ("walk",)

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def over_words(self, node: Node) -> bool:
        """Look at a loop; False where it is no `for` over words."""
        walk = self.walk
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None or node.children[0].type != "for":
            return False
        values = self._all_values(node)
        walk.record.token(name)
        before, key = walk.place.cwds, walk.speller.slice(name.start_byte, name.end_byte)
        rounds: list[str | None] = [*values] if values else [None]
        for value in rounds:
            self._bind(key, value)
            walk.statement(body)
        self._bind(key, None)
        if walk.place.cwds != before:
            walk.refuse_whole(node, "A cd in a loop may lead anywhere.")
        return True

    def _all_values(self, node: Node) -> list[str] | None:
        values: list[str] | None = []
        for child in node.children:
            if not child.is_named:
                self.walk.token(child, node)
            elif child.type not in ("variable_name", "do_group", "comment"):
                self.walk.nested(child)
                values = self._values(child, values)
        return values

    def _values(self, node: Node, values: list[str] | None) -> list[str] | None:
        words = self.walk.speller.words(node)
        self.walk.record.value(words)
        if values is None:
            return None
        for word in words:
            if not word.literal or len(values) >= MOST_VALUES:
                return None
            expanded = self.walk.redirects.expanded(word, MOST_VALUES) if word.glob else [word.text]
            if expanded is None:
                return None
            values += expanded
        return values if len(values) <= MOST_VALUES else None

    def _bind(self, name: str, value: str | None) -> None:
        harmless = OWN_NAME.fullmatch(name) and not name.endswith("_proxy")
        if not harmless:
            self.walk.effects.refuse(f"The variable {name} may change what programs do.")
        if harmless and value is not None:
            self.walk.variables[name] = value
        else:
            self.walk.variables.pop(name, None)
