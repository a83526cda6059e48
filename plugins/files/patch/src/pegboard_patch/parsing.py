"""Read a patch in the V4A format. Every fault is named with its line; nothing is guessed.

*** Begin Patch
*** Add File: new.txt          every line of it begins with +
*** Delete File: old.txt
*** Update File: app.py
*** Move to: main.py           optional
@@ class Shop                  optional: a line that the change comes after; several narrow it down
a line that stays
-a line that goes
+a line that comes
*** End of File                optional: the change is at the end
*** End Patch
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from pegboard import ToolError

BEGIN, END, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
ADD, DELETE, UPDATE, MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "


MOST_HUNKS = 5_000


class PatchError(ValueError):
    """What is wrong with a patch, as a sentence."""


@dataclass(slots=True)
class Hunk:
    """Lines to find in a file, and what becomes of them."""

    line: int
    """Where it begins in the patch."""
    headers: list[str] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Each with its first character: a space, `-` or `+`."""
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [text for mark, text in self.lines if mark != "+"]


@dataclass(slots=True)
class FilePatch:
    """What happens to one file."""

    kind: str
    """`add`, `delete` or `update`."""
    path: str
    line: int
    content: str = ""
    move_to: str = ""
    hunks: list[Hunk] = field(default_factory=list)


def parts_of(text: str) -> tuple[FilePatch, ...]:
    """The parts of a patch, for a call: a `ToolError` says why there are none."""
    try:
        return parse(text)
    except PatchError as error:
        raise ToolError(f"The patch cannot be read: {error}") from None


@lru_cache(maxsize=4)
def parse(text: str) -> tuple[FilePatch, ...]:
    """The parts of a patch, in order."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if lines[0].strip() != BEGIN:
        raise PatchError(f"line 1 of the patch must be {BEGIN!r}, got {_short(lines[0])}.")
    if lines[-1].strip() != END:
        raise PatchError(f"the last line of the patch must be {END!r}, got {_short(lines[-1])}.")
    reader = _Reader(lines)
    made = []
    while reader.at < len(lines) - 1:
        if reader.line.strip():
            made.append(reader.file())
        else:
            reader.at += 1
    if sum(len(part.hunks) for part in made) > MOST_HUNKS:
        raise PatchError(f"the patch has more than {MOST_HUNKS:,} changes. Split it.")
    if not made:
        raise PatchError("the patch is empty. Add, update or delete at least one file.")
    return tuple(made)


class _Reader:
    """Goes through the lines of a patch; the last one is its end."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.ends, self.at = lines, _ends(lines), 1

    @property
    def line(self) -> str:
        return self.lines[self.at]

    @property
    def is_over(self) -> bool:
        """Whether the part of a file ends here."""
        return self.at >= len(self.lines) - 1 or self.line.startswith((ADD, DELETE, UPDATE))

    def file(self) -> FilePatch:
        """One part."""
        number = self.at + 1
        for mark, kind in ((ADD, "add"), (DELETE, "delete"), (UPDATE, "update")):
            if self.line.startswith(mark):
                made = FilePatch(kind, _path(self.line[len(mark) :], number), number)
                self.at += 1
                {"add": self._add, "delete": self._delete, "update": self._update}[kind](made)
                return made
        expected = f"{ADD.strip()!r}, {DELETE.strip()!r} or {UPDATE.strip()!r}"
        raise PatchError(f"line {number} of the patch must begin with {expected}, got {_short(self.line)}.")

    def _add(self, made: FilePatch) -> None:
        lines = list[str]()
        while not self.is_over:
            if not self.line.startswith("+"):
                if not self.line.strip() and self._only_blank_lines_follow():
                    break
                raise PatchError(f"line {self.at + 1} of the patch must begin with +, got {_short(self.line)}.")
            lines.append(self.line[1:])
            self.at += 1
        made.content = "".join(f"{line}\n" for line in lines)

    def _delete(self, made: FilePatch) -> None:
        while not self.is_over:
            if self.line.strip():
                raise PatchError(f"line {self.at + 1}: nothing may follow the deletion of {made.path}.")
            self.at += 1

    def _update(self, made: FilePatch) -> None:
        if not self.is_over and self.line.startswith(MOVE):
            made.move_to = _path(self.line[len(MOVE) :], self.at + 1)
            self.at += 1
        while not self.is_over and not self._only_blank_lines_follow():
            made.hunks.append(self._hunk(is_first=not made.hunks))
        if not made.hunks and not made.move_to:
            raise PatchError(f"line {made.line}: the update of {made.path} has no changes.")

    def _hunk(self, *, is_first: bool) -> Hunk:
        made = Hunk(self.at + 1)
        while not self.is_over and self.line.startswith("@@"):
            if words := self.line[2:].strip():
                made.headers.append(words)
            self.at += 1
        if self.at + 1 == made.line and not is_first:
            raise PatchError(f"line {self.at + 1} of the patch must begin with @@, got {_short(self.line)}.")
        while not self.is_over and not self.line.startswith("@@"):
            if self.line.strip() == END_OF_FILE:
                made.at_end = True
                self.at += 1
                break
            if self.line == "" and self._only_blank_lines_follow():
                break
            if self.line[:1] not in ("", " ", "-", "+"):
                reason = f"line {self.at + 1} of the patch must begin with a space, - or +"
                raise PatchError(f"{reason}, got {_short(self.line)}.")
            made.lines.append((self.line[:1] or " ", self.line[1:]))
            self.at += 1
        if not any(mark != " " for mark, _ in made.lines):
            raise PatchError(f"line {made.line}: this change neither adds nor removes anything.")
        return made

    def _only_blank_lines_follow(self) -> bool:
        """Whether the part ends with blank lines: they belong to no file."""
        return self.at >= len(self.ends) or self.ends[self.at]


def _ends(lines: list[str]) -> list[bool]:
    """For each line but the last of a patch, whether nothing but blank lines comes before the next part or the end."""
    ends, over = list[bool](), True
    for line in reversed(lines[:-1]):
        over = line.startswith((ADD, DELETE, UPDATE)) or (over and not line.strip())
        ends.append(over)
    return ends[::-1]


def _path(text: str, number: int) -> str:
    path = text.strip()
    if not path or "\0" in path:
        raise PatchError(f"line {number} of the patch names no file.")
    return path


def _short(line: str) -> str:
    return repr(line if len(line) <= 60 else f"{line[:57]}...")
