"""The signs between commands in the text of a rule, outside quotes."""

from __future__ import annotations

from collections.abc import Iterator

SIGNS = ("&&", "||", "|&", "|", ";", "&", "\n")
REDIRECTS = "<>"


def operators(text: str) -> Iterator[tuple[int, str]]:
    """Each sign with its place. A quoted or escaped one is part of a word, and `2>&1` is a redirect."""
    quote, at = "", 0
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif sign := next((sign for sign in SIGNS if text.startswith(sign, at)), ""):
            if not (sign == "&" and (text[at - 1 : at] in REDIRECTS or text[at + 1 : at + 2] == ">")):
                yield at, sign
            at += len(sign)
            continue
        at += 1


def pipes_of(text: str) -> list[str]:
    """The commands of a pipeline; the whole text where there is none, or where it is more than one."""
    found = list(operators(text))
    if any(sign not in ("|", "|&") for _, sign in found):
        return [text]
    pieces, start = [], 0
    for at, sign in found:
        pieces.append(text[start:at].strip())
        start = at + len(sign)
    return [*pieces, text[start:].strip()]
