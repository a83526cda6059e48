"""Classify what engines print on standard error: a problem with a file, nothing to search, or a failed search."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pegboard import ToolError

ABOUT_A_FILE = re.compile(r"^(?:rg|grep): .*\(os error (\d+)\)$", re.M)
NOTHING = re.compile(r"^(?:rg|grep): No files were searched.*(?:\nRunning with --debug.*)?$", re.M)
EAGAIN, ENOENT = "11", "2"

HINTS = (
    ("repetition", "Braces are special: write \\{ for a literal brace."),
    ("look-around", "Look-around is not supported: use a simpler pattern and filter the results."),
    ("backreferences", "Backreferences are not supported: use a simpler pattern and filter the results."),
    ("literal", "Pass multiline=true to match across lines."),
    ("unrecognized file type", "Use glob instead, such as *.ext."),
    ("glob", "Escape special characters of the glob with \\."),
    ("size limit", "Use a shorter pattern."),
)
OTHERWISE = "To search for the literal text, pass fixed_strings=true."


@dataclass(frozen=True, slots=True)
class Complaints:
    """The parsed standard error of an engine."""

    unreadable: int = 0
    nothing_searched: bool = False
    overloaded: bool = False
    """Whether the system was out of threads or processes; the same search may work with one thread."""
    fatal: str = ""


def understand(errors: bytes, code: int | None) -> Complaints:
    """Parse an engine's standard error."""
    text = errors.decode("utf-8", "backslashreplace").strip()
    numbers = ABOUT_A_FILE.findall(text)
    rest = NOTHING.sub("", ABOUT_A_FILE.sub("", text)).strip()
    overloaded = EAGAIN in numbers or "os error 11" in rest
    return Complaints(
        unreadable=sum(number not in (ENOENT, EAGAIN) for number in numbers),
        nothing_searched=NOTHING.search(text) is not None,
        overloaded=overloaded,
        fatal=rest if code not in (0, 1) and rest and not overloaded else "",
    )


def refused(fatal: str) -> ToolError:
    """The engine's own message with a hint, for the model."""
    fatal = fatal.partition("\n\nConsider ")[0]  # This part of the message names flags that the model cannot set.
    words = "\n".join(line for line in fatal.removeprefix("rg: ").removeprefix("grep: ").splitlines() if line.strip())
    hint = next((hint for sign, hint in HINTS if sign in words), OTHERWISE)
    words = words if len(words) <= 1500 else f"{words[:700]} … {words[-700:]}"
    return ToolError(f"The search failed: {words}\n{hint}")
