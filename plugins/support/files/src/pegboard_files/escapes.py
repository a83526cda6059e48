"""The escape sequences of terminals in text that is kept or cut."""

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
