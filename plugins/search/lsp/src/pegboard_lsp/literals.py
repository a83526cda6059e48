"""Keep values of withheld files out of a server's words: types such as `Literal["…"]` quote them."""

from __future__ import annotations

import re

LITERAL = re.compile(
    r"""
      "(?:[^"\\]|\\.)*(?:"|\Z)                # A text, or the beginning of one that the server has cut.
    | (?<!\w)[bru]{0,2}'(?:[^'\\]|\\.)*(?:'|\Z)  # Not the apostrophe in a word.
    | (?<!\w)\d\w{3,}                         # A number that is too long for a count.
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
HIDDEN = "…"


def without_values(words: str, known: str) -> str:
    """A server's words without the texts and numbers that the file it was asked about does not contain itself."""

    def shown(found: re.Match[str]) -> str:
        value = found[0]
        quote = next((sign for sign in value if sign in "\"'"), "")
        inner = value[value.index(quote) + 1 :].removesuffix(quote) if quote else value
        return value if inner in known else f"{quote}{HIDDEN}{quote}"

    return LITERAL.sub(shown, words)
