"""Help for a text that was not found: the nearest match, how it differs, and what probably went wrong."""

from __future__ import annotations

import re

from pegboard_edit.match import unescaped

MOST_LINES = 20_000
LONGEST = 400
CLOSE = 55
DIFF_LINES = 12
NUMBERED = re.compile(r"^[ ]*\d+\t", re.MULTILINE)


def help_for(view: str, old: str) -> str:
    """What to tell the model about text that is not in the file."""
    plain = old.replace("\r\n", "\n")
    return " ".join(part for part in (_hint(view, plain), _nearest(view, plain)) if part)


def _hint(view: str, old: str) -> str:
    without = NUMBERED.sub("", old)
    if without != old and without in view:
        return "It begins with line numbers: the number and tab before each line come from Read, not from the file."
    if unescaped(old) != old and unescaped(old) in view:
        return "It contains escapes such as \\n; use the characters themselves."
    if _squeezed(old) and _squeezed(old) in _squeezed(view):
        return f"It differs only in whitespace{_tabs(view, old)}: copy it exactly as Read shows it."
    if old.lower() in view.lower():
        return "It differs only in upper and lower case."
    return ""


def _tabs(view: str, old: str) -> str:
    if "\t" in view and "\t" not in old:
        return " (the file has tabs where you have spaces)"
    if "\t" in old and "\t" not in view:
        return " (you have tabs where the file has spaces)"
    return ""


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _nearest(view: str, old: str) -> str:
    """The lines most similar to the text, found by its most distinctive line."""
    wanted = old.strip("\n").split("\n")
    lines = view.split("\n")[:MOST_LINES]
    key = max(range(len(wanted)), key=lambda number: len(wanted[number].strip()))
    if not wanted[key].strip():
        return ""
    from rapidfuzz import fuzz, process  # Imported late: it takes 46 ms, and only a failed edit needs it.

    choices = [line[:LONGEST].strip() for line in lines]
    close = process.extract(wanted[key][:LONGEST].strip(), choices, scorer=fuzz.ratio, limit=5, score_cutoff=CLOSE)
    best, first = 0.0, -1
    for _, _, number in close:
        start = max(number - key, 0)
        window = "\n".join(lines[start : start + len(wanted)])
        score = fuzz.ratio(window[: LONGEST * 5], old[: LONGEST * 5])
        if score > best:
            best, first = score, start
    if first < 0:
        return "Nothing in the file is similar. Read it again and copy the text from there."
    last = first + len(wanted)
    found = f"The nearest match is at line {first + 1}:\n{_difference(lines[first:last], wanted)}\n"
    return f"{found}Read lines {max(first, 1)} to {last + 1} and copy from there."


def _difference(found: list[str], wanted: list[str]) -> str:
    from difflib import ndiff  # Imported late: it takes 3 ms, and only a failed edit needs it.

    lines = [line for line in ndiff(found[:DIFF_LINES], wanted[:DIFF_LINES]) if not line.startswith("?")]
    names = {"- ": "file: ", "+ ": "yours:", "  ": "both: "}
    shown = [f"  {names[line[:2]]} {_visible(line[2:])}" for line in lines[: 2 * DIFF_LINES]]
    return "\n".join(shown)


def _visible(line: str) -> str:
    """The line with leading and trailing whitespace made visible."""
    cut = line[:200] + ("…" if len(line) > 200 else "")
    bare = cut.rstrip(" ")
    return bare.replace("\t", "→") + "·" * (len(cut) - len(bare))
