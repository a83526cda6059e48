"""What engines say on standard error, told apart: trouble with a file, nothing to search, or no search at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pegboard import ToolError

ABOUT_A_FILE = re.compile(r"^(?:rg|grep): .*\(os error (\d+)\)$", re.M)
NOTHING = re.compile(r"^(?:rg|grep): No files were searched.*(?:\nRunning with --debug.*)?$", re.M)
EAGAIN, ENOENT = "11", "2"

HINTS = (
    ("repetition", "Braces are special: write \\{ for a literal brace."),
    ("look-around", "Look-around is not supported: search for less and filter, or rephrase the pattern."),
    ("backreferences", "Backreferences are not supported: rephrase the pattern."),
    ("literal", "Pass multiline=true to match across lines."),
    ("unrecognized file type", "Use glob instead, such as *.ext."),
    ("glob", "Escape special characters of the glob with \\."),
    ("size limit", "Make the pattern smaller."),
)
OTHERWISE = "To search for the text as it is, pass fixed_strings=true."


@dataclass(frozen=True, slots=True)
class Complaints:
    """Standard error, understood."""

    unreadable: int = 0
    nothing_searched: bool = False
    overloaded: bool = False
    """The system had no thread or process to spare; the same search may work with one."""
    fatal: str = ""


def understand(errors: bytes, code: int | None) -> Complaints:
    """What an engine complained about."""
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
    """The engine's own words with a hint, for the model."""
    fatal = fatal.partition("\n\nConsider ")[0]  # It would speak of flags that a model cannot give.
    words = "\n".join(line for line in fatal.removeprefix("rg: ").removeprefix("grep: ").splitlines() if line.strip())
    hint = next((hint for sign, hint in HINTS if sign in words), OTHERWISE)
    words = words if len(words) <= 1500 else f"{words[:700]} … {words[-700:]}"
    return ToolError(f"The search was refused: {words}\n{hint}")
