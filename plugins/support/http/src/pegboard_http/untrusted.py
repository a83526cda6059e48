"""Text that strangers wrote, on its way to a model: marked as theirs, and without what a person cannot see.

A page or a search result may contain instructions; characters that a person cannot see but a model reads can hide them.
"""

from __future__ import annotations

import re

MARK = "untrusted-web-content"
"""The tag around every text from the web."""
_FORGED = re.compile(rf"<(\s*/?\s*{MARK})", re.IGNORECASE)

_INVISIBLE = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
# Joiners shape Persian, Indic scripts and emoji; between plain letters they only hide something.
_JOINERS = re.compile("(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])")
# Half a character, as JSON can spell it, is no text either: no file and no request could contain it.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff]")
_QUIET = "\u00ad\ufeff"
"""Removed silently: soft hyphens and byte order marks are common and harmless."""


def without_invisible(text: str) -> tuple[str, int]:
    """The text without invisible characters, and how many of them were suspicious."""
    if text.isascii() and text.isprintable():
        return text, 0
    for quiet in _QUIET:
        text = text.replace(quiet, "")
    text, count = _INVISIBLE.subn("", text)
    text, joiners = _JOINERS.subn("", text)
    text, controls = _CONTROLS.subn("", text)
    return text, count + joiners + controls


def without_marks(text: str) -> str:
    """The text with our own marks made harmless: a page must not be able to end its own quarantine."""
    return _FORGED.sub(r"&lt;\1", text)
