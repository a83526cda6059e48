"""The escape sequences of terminals in text that is kept, cut or shown."""

from __future__ import annotations

import re

TERMINAL_ESCAPE = re.compile(
    r"""
      (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]                  # colours, movements
    | (?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)  # titles, links
    | \x1b[PX^_][^\x1b]*\x1b\\                          # device strings
    | \x1b[ -/]*[0-~]
    """,
    re.VERBOSE,
)

OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain_text(text: str) -> str:
    """Text as a terminal would have shown it in the end: no colours, of a progress bar only its last state."""
    if not CONTROL.search(text):
        return text
    text = TERMINAL_ESCAPE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    while "\x08" in text and (shorter := OVERSTRUCK.sub("", text)) != text:
        text = shorter
    return CONTROL.sub(lambda found: "" if found[0] in "\x07\x08\r\x1b" else f"\\x{ord(found[0]):02x}", text)


def _last_state(line: str) -> str:
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")
