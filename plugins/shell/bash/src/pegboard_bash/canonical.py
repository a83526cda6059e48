"""How bash itself parses a text: it prints the text as it parsed it, and our parse of both must be the same.

bash prints words as they are written, so this says nothing of what is inside them. It confirms where commands begin and
end. It is asked only about what is outside the closed subset.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from pegboard_bash.bash_printer import pretty_printed
from pegboard_bash.lexer import Doubt
from pegboard_bash.syntax import Parser
from pegboard_bash.word_builder import Shape

UNSURE = "bash parses it differently"


@lru_cache(maxsize=256)
def problem_with_bash(text: str) -> str:
    """Why bash may read a text in another way than we do, as a sentence; empty when it reads it alike."""
    try:
        printed = pretty_printed(text)
        alike = printed is not None and outline(text) == outline(printed)
    except Doubt:
        alike = False
    return "" if alike else f"It cannot be parsed reliably: {UNSURE}."


Outline = tuple[Counter[object], Counter[object]]


def outline(text: str) -> Outline:
    """The commands, signs and redirects of a text without their places."""
    parser = Parser(text)
    parser.script()
    commands = Counter[object](
        tuple(_shape(token) for token in (*command.assignments, *command.words)) for command in parser.commands
    )
    signs = Counter[object](mark[1] for mark in parser.marks if mark[1] in SIGNS)
    signs["|"] += signs.pop("|&", 0)  # Printed as `2>&1 |`.
    return commands, signs


SIGNS = frozenset({"&&", "||", "|", "|&", "&", "(", "{", "!", "$(", "<(", ">(", "`", "for", "while", "until", "case"})


def _shape(token: object) -> str | Shape:
    spelling = getattr(token, "spelling", None)
    return spelling.shape if spelling else str(getattr(token, "source", ""))
