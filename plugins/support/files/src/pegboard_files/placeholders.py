"""Detect placeholders such as "rest of the code unchanged" where the code itself should be."""

from __future__ import annotations

import re

_PART = "code|file|content|contents|lines|methods|functions|class|implementation|imports|tests|logic|section|body"
_DOTS = r"(?:\.{3}|…)"
OPENER = re.compile(r"^(?:(?://|#|--|;|%|<!--|\{?/?\*)[/#*;%-]*|[\[(]?(?=\.{3}|…))\s*")
CLOSER = re.compile(r"\s*(?:\*/\}?|-->|[\])])$")
_TAIL = rf"(?:\ (?:here|below|above|unchanged|as\ before))? \ ?{_DOTS}?"
STAND_IN = re.compile(
    rf"""{_DOTS} .* \b(?:rest|remainder|remaining|existing|previous|other|unchanged|same|omitted|as\ before)\b .*
    | (?:the\ )? (?:rest|remainder)\ of\ (?:the\ |your\ |this\ )? (?:\w+\ )? (?:{_PART}) {_TAIL}
    | .* \b(?:{_PART}|rest)\b .* \b(?:remains?|stays?|is|are)\ (?:unchanged|the\ same|as\ before) \ ?(?:{_DOTS}|\.)?
    | (?:existing|previous|remaining|other|unchanged)\ (?:{_PART})\ (?:here|unchanged|as\ before|{_DOTS}) \ ?{_DOTS}?
    | .* \b(?:{_PART})\b .* \bomitted\b .*
    """,
    re.VERBOSE | re.IGNORECASE,
)


def placeholders(new: str, old: str = "") -> list[str]:
    """The lines of `new` that look like placeholders for omitted text and are not in `old`."""
    found = [line.strip() for line in new.split("\n") if _stands_in(line.strip())]
    there = {line.strip() for line in old.split("\n")} if found else set()
    return [line for line in found if line not in there]


def _stands_in(line: str) -> bool:
    """Only a comment or a line that begins with dots can be a placeholder; 200 characters or more are prose."""
    if not 3 < len(line) < 200:
        return False
    opened = OPENER.match(line)
    return opened is not None and STAND_IN.fullmatch(CLOSER.sub("", line[opened.end() :])) is not None
