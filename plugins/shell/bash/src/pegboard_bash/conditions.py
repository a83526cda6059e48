"""Tests in brackets: harmless on plain words, but bash evaluates names in some of them, and with that commands.

They are read from their text by a small lexer of their own, one for each kind: `[[ … ]]` is syntax, in which `<` and
`&&` compare; `[ … ]` is a command like any other, in which they are a redirect and the end of the command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard_bash.words import Speller

if TYPE_CHECKING:
    from tree_sitter import Node

NUMERIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
NUMBER = re.compile(r"-?\d+", re.ASCII)
PLAIN = r"[\w./:=@%+,-]"
QUOTED = r"""'[^'\n]*'|"[^"$`\\\n]*"|"\$(?:\w+|\{\w+\})\""""
COMMAND_WORD = re.compile(rf"(?:{PLAIN}|\^|{QUOTED})+|!=?", re.ASCII)
"""A word of `[ … ]`: no pattern, operator or backslash outside quotes, and in them no expansion but one alone."""

SYNTAX_WORD = re.compile(rf"=~(?=[ \t])|(?:{PLAIN}|[*?^\[\]]|\$(?=[ \t])|{QUOTED})+|!=?|&&|\|\||[<>()]", re.ASCII)
"""The same for `[[ … ]]`, where patterns match texts instead of files, and a lone dollar ends an expression."""

PIECE = re.compile(r"""'([^']*)'|"\$\{?(\w+)\}?"|"([^"]*)"|(.)""", re.ASCII | re.DOTALL)
AFTER = frozenset(b" \t\n;&|)")
LATE = "It tests values that are known only when it runs."


def problem_of_test(node: Node, speller: Speller) -> str:
    """Why a test may do more than compare, as a sentence; empty when it cannot."""
    source = speller.slice(node.start_byte, node.end_byte)
    follows = speller.source[node.end_byte : node.end_byte + 1]
    if follows and follows[0] not in AFTER:
        return LATE
    for begin, end, word in (("[[", "]]", SYNTAX_WORD), ("[", "]", COMMAND_WORD)):
        if source.startswith((f"{begin} ", f"{begin}\t")) and source.endswith((f" {end}", f"\t{end}")):
            texts = _texts(source[len(begin) : -len(end)], word, speller)
            return LATE if texts is None else _problem(texts)
    return LATE


def _texts(inside: str, word: re.Pattern[str], speller: Speller) -> list[str] | None:
    """The words of a test; None where one of them is not plain."""
    texts: list[str] = []
    at = 0
    while at < len(inside):
        if inside[at] in " \t":
            at += 1
            continue
        found = word.match(inside, at)
        if found is None or inside[found.end() : found.end() + 1] not in (" ", "\t"):
            return None
        text = _unquoted(found[0], speller)
        if text is None:
            return None
        texts.append(text)
        at = found.end()
    return texts


def _unquoted(source: str, speller: Speller) -> str | None:
    made = ""
    for single, name, double, plain in PIECE.findall(source):
        if name and name not in speller.variables:
            return None
        made += speller.variables[name] if name else single or double or plain
    return made


def _problem(texts: list[str]) -> str:
    if "-v" in texts or "-R" in texts:
        return "A test on a variable's name can run commands."
    for at, text in enumerate(texts):
        if text in NUMERIC_TESTS:
            sides = [*texts[max(at - 1, 0) : at], *texts[at + 1 : at + 2]]
            if not all(NUMBER.fullmatch(side) for side in sides):
                return "Arithmetic on names can run commands."
    return ""
