"""Tests in brackets: harmless on plain words, but bash evaluates names in some of them, and with that commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_bash.words import Speller

if TYPE_CHECKING:
    from tree_sitter import Node

NUMERIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
TEST_TYPES = frozenset(
    {
        *("[", "]", "[[", "]]", "unary_expression", "binary_expression", "parenthesized_expression", "test_operator"),
        *("word", "number", "string", "raw_string", "string_content", "concatenation", "extglob_pattern", "regex"),
        *("!", "&&", "||", "==", "=", "!=", "=~", "<", ">", "(", ")", '"', "negation_expression"),
    }
)
LEAVES = frozenset({"word", "number", "string", "raw_string", "concatenation"})
LATE = "A test on values that are known only when it runs."


def problem_of_test(node: Node, speller: Speller) -> str:
    """Why a test may do more than compare, as a sentence; empty when it cannot."""
    texts: list[str] = []
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.type not in TEST_TYPES:
            return LATE
        if child.type in LEAVES:
            words = speller.words(child)
            if not all(word.literal for word in words):
                return LATE
            texts += [word.text for word in words]
        elif child.children:
            stack += reversed(child.children)
        else:
            texts.append(speller.slice(child.start_byte, child.end_byte))
    return _problem(texts)


def _problem(texts: list[str]) -> str:
    if "-v" in texts or "-R" in texts:
        return "A test on a variable's name can run commands."
    for at, text in enumerate(texts):
        if text in NUMERIC_TESTS:
            sides = [*texts[max(at - 1, 0) : at], *texts[at + 1 : at + 2]]
            if not all(side.lstrip("-").isdigit() for side in sides):
                return "Arithmetic on names can run commands."
    return ""
