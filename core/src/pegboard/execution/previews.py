"""The head and the tail of a text that is too long to show, cut where it does no harm."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pegboard.calls import Text

TERMINAL_ESCAPE = re.compile(
    r"""
      (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]                  # colours, movements
    | (?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)  # titles, links
    | \x1b[PX^_][^\x1b]*\x1b\\                          # device strings
    | \x1b[ -/]*[0-~]
    """,
    re.VERBOSE,
)
LONGEST_ESCAPE = 4_096
INTRODUCERS = re.compile("[\x1b\x9b\x9d]")


@dataclass(frozen=True, slots=True)
class Preview(Text):
    """What the model sees of a saved result. It knows its parts, so that it can be made shorter later."""

    path: Path | None = None
    remark: str = ""
    head: str = ""
    tail: str = ""
    left_out: int = 0


def preview(texts: list[str], room: int, name: str, path: Path | None, problem: str = "") -> Preview:
    """A remark, the head and the tail of all texts together, within `room` characters if the remark leaves any."""
    size = sum(map(len, texts)) + len(texts) - 1
    lines = sum(text.count("\n") for text in texts) + len(texts) - 1
    whole = f"The result of {name} has {size:,} characters in {lines + 1:,} lines, too long to show."
    if path:
        remark = f"[{whole} It is saved in full in {path}: read the parts you need, or search it.]"
    else:
        remark = f"[{whole} The rest could not be saved ({problem}). To see more, ask for a smaller part.]"
    space = _space(remark, room)
    return _made(path, remark, _front(texts, space), _back(texts, space), size)


def shrink(shown: Preview, room: int) -> Preview:
    """The same preview in less room; the remark, and with it the path, stays."""
    size = len(shown.head) + shown.left_out + len(shown.tail)
    space = _space(shown.remark, room)
    return _made(shown.path, shown.remark, _front([shown.head], space), _back([shown.tail], space), size)


def _space(remark: str, room: int) -> int:
    """How many characters the head and the tail may have each."""
    return max((room - len(remark) - 60) // 2, 0)


def _made(path: Path | None, remark: str, head: str, tail: str, size: int) -> Preview:
    left_out = size - len(head) - len(tail)
    gap = f"[... {left_out:,} characters omitted ...]"
    text = "\n".join(part for part in (remark, head, gap, tail) if part)
    return Preview(text, path, remark, head, tail, left_out)


def _front(texts: list[str], space: int) -> str:
    """Up to `space` characters from the front."""
    taken = ""
    for number, text in enumerate(texts):
        more = ("\n" if number else "") + text[: space + LONGEST_ESCAPE]
        taken += more
        if len(taken) > space + LONGEST_ESCAPE:
            break
    return taken[: before(taken, space)]


def _back(texts: list[str], space: int) -> str:
    """Up to `space` characters from the end."""
    taken = ""
    for number, text in enumerate(reversed(texts)):
        taken = text[-(space + LONGEST_ESCAPE) :] + ("\n" if number else "") + taken
        if len(taken) > space + LONGEST_ESCAPE:
            break
    return taken[after(taken, len(taken) - space) :] if space else ""


def before(text: str, cut: int) -> int:
    """The last place at or before `cut` that is not inside an escape sequence or between a return and its newline."""
    if not 0 < cut < len(text):
        return max(min(cut, len(text)), 0)
    inside = _escape_around(text, cut)
    if inside:
        return inside[0]
    return cut - 1 if text[cut - 1 : cut + 1] == "\r\n" else cut


def after(text: str, cut: int) -> int:
    """The first place at or after `cut` that is not inside an escape sequence or between a return and its newline."""
    if not 0 < cut < len(text):
        return max(min(cut, len(text)), 0)
    inside = _escape_around(text, cut)
    if inside:
        return inside[1]
    return cut + 1 if text[cut - 1 : cut + 1] == "\r\n" else cut


def _escape_around(text: str, cut: int) -> tuple[int, int] | None:
    for start in INTRODUCERS.finditer(text, max(cut - LONGEST_ESCAPE, 0), cut):
        found = TERMINAL_ESCAPE.match(text, start.start(), cut + LONGEST_ESCAPE)
        if found and found.start() < cut < found.end():
            return found.start(), found.end()
    return None
