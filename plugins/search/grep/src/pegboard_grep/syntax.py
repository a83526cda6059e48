"""The part of ripgrep's syntax that the Python engine supports. What Python would interpret differently is refused."""

from __future__ import annotations

import re
from typing import Any

FOREIGN = (
    (r"\(\?(?:=|!|<=|<!)", "look-around, including look-ahead and look-behind, is not supported"),
    (r"\\[1-9]|\(\?P=|\(\?\(", "backreferences are not supported"),
    (r"\(\?>|[*+?}]\+", "atomic groups and possessive repetition are not supported"),
    (r"\\[pPxuUzZGKQE<>]|\\b\{", "the Python engine does not support this escape"),
    (r"\[\^?\[|&&|~~|\[[^\]]*--", "the Python engine does not support set operations and named classes"),
    (r"\(\?[a-zA-Z]*[UxRaLut]", "the Python engine does not support this flag"),
)
QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")


class UnsupportedPatternError(ValueError):
    """A search that this engine does not support; the message is for the model."""


def compiled(job: dict[str, Any]) -> re.Pattern[str]:
    """The regular expression of a job."""
    pattern = job["pattern"]
    if job["fixed"]:
        source = re.escape(pattern)
    else:
        _require_claimed(pattern)
        source = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", pattern)
    if not job["multiline"] and ("\n" in pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", pattern)) and not job["fixed"]:
        raise UnsupportedPatternError('the literal "\\n" is not allowed in a regex')
    if "\n" in pattern and job["fixed"] and not job["multiline"]:
        raise UnsupportedPatternError('the literal "\\n" is not allowed in a regex')
    flags = re.MULTILINE | (re.IGNORECASE if job["ignore_case"] else 0) | (re.DOTALL if job["multiline"] else 0)
    try:
        return re.compile(source, flags)
    except re.error as error:
        raise UnsupportedPatternError(f"regex parse error: {error}") from None
    except (RecursionError, OverflowError):
        raise UnsupportedPatternError("regex parse error: the pattern is nested too deeply or too large") from None


def _require_claimed(pattern: str) -> None:
    bare = re.sub(r"\\[^1-9pPxuUzZGKQE<>b]", "__", pattern)
    for foreign, words in FOREIGN:
        if found := re.search(foreign, bare):
            raise UnsupportedPatternError(f"regex parse error: {words} ({found.group()} in the pattern)")
    outside = re.sub(r"\[\^?\]?[^\]]*\]", "__", bare)
    if "{" in QUANTIFIER.sub("", outside):
        raise UnsupportedPatternError("regex parse error: repetition quantifier expects a valid decimal")
