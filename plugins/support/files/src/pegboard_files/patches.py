"""What changed between two texts: hunks for programs, a unified diff for people, both cheap on large files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.wording import counted

CONTEXT = 3
MOST_COMPARED = 3000
"""Beyond this many changed lines a line-by-line comparison costs seconds; the middle is then one replacement."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A stretch of changed lines with its context; each line begins with a space, `-` or `+`."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """All hunks, and how many lines came and went."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int

    def text(self, name: str, most_lines: int = 200) -> str:
        """A unified diff, cut visibly when it is long."""
        lines = [f"--- {name}", f"+++ {name}"]
        for hunk in self.hunks:
            lines.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
            lines += hunk.lines
        left = len(lines) - most_lines
        if left > 0:
            lines[most_lines:] = [f"({counted(left, 'more line')} of the diff not shown)"]
        return "\n".join(lines)


def patch(old: str, new: str) -> Patch:
    """The difference of two texts, line by line."""
    before, after = lines_of(old), lines_of(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    first, last = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    a, b = before[first : len(before) - last], after[first : len(after) - last]
    if before == after:
        return Patch((), 0, 0)
    hunks = tuple(_hunk(a, b, group, first) for group in _groups(a, b, head - first, tail - last))
    marks = [line[0] for hunk in hunks for line in hunk.lines]
    return Patch(hunks, marks.count("+"), marks.count("-"))


def lines_of(text: str) -> list[str]:
    """The lines of a text; one without a final newline is marked as a diff marks it."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    for number, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return number
    return min(len(a), len(b))


Op = tuple[str, int, int, int, int]


def _groups(a: list[str], b: list[str], head: int, tail: int) -> list[list[Op]]:
    if len(a) + len(b) > MOST_COMPARED:
        ends = (len(a) - tail, len(b) - tail)
        ops: list[Op] = [("equal", 0, head, 0, head), ("replace", head, ends[0], head, ends[1])]
        return [[*ops, ("equal", ends[0], len(a), ends[1], len(b))]]
    from difflib import SequenceMatcher  # 3 ms, and only a change needs it

    return [list(group) for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT)]


def _hunk(a: list[str], b: list[str], group: list[Op], shift: int) -> Hunk:
    lines: list[str] = []
    for kind, i, j, k, m in group:
        if kind == "equal":
            lines += (f" {line}" for line in a[i:j])
        else:
            lines += (f"-{line}" for line in a[i:j])
            lines += (f"+{line}" for line in b[k:m])
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    return Hunk(
        shift + old[0] + (old[1] > old[0]),
        old[1] - old[0],
        shift + new[0] + (new[1] > new[0]),
        new[1] - new[0],
        tuple(lines),
    )
