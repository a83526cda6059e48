"""The first reading: the syntax tree of a command, from tree-sitter's grammar of bash."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pegboard_bash.second_reading import second_reading

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

LONGEST = 10_000
LONGEST_IN_DOUBT = 2_000
MOST_MARKS = 1_000
MOST_BRACKETS = 500
"""The grammar takes more and more time with many pieces, and with text that is no bash. Ours does not."""


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # tree_sitter takes 50 ms to import; only a session that runs commands should pay for it.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def syntax_tree(text: str) -> Node | None:
    """The root of the tree; None for a text that is too much to look at."""
    tree = _tree(text)
    return tree.root_node if tree else None


@lru_cache(maxsize=16)
def _tree(text: str) -> Tree | None:
    if len(text) > LONGEST:
        return None
    second = second_reading(text)
    crowded = len(second.marks) > MOST_MARKS or text.count("[") > MOST_BRACKETS
    if crowded or (second.doubt and len(text) > LONGEST_IN_DOUBT):
        return None
    return _parser().parse(text.encode("utf-8", "surrogatepass"))
