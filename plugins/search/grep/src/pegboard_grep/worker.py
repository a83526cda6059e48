"""The Python engine, a separate program: it can be killed whatever its regular expression is doing.

It takes a job as JSON on standard input and prints as ripgrep does with `--null --line-number --column`. It must run
without site-packages, so it imports nothing but the standard library and what the job says.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from syntax import UnsupportedPatternError, compiled  # type: ignore[import-not-found,unused-ignore]
from types_known import globs_of  # type: ignore[import-not-found,unused-ignore]

SAMPLE = 65_536
LARGEST = 200_000_000
BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class Engine:
    """One job."""

    def __init__(self, job: dict[str, Any], out: BinaryIO) -> None:
        self.job, self.out, self.found, self.searched = job, out, False, 0
        self.regex: re.Pattern[str] = compiled(job)
        self.left_out = frozenset(job["left_out"])

    def run(self) -> int:
        if self.job["mode"] == "files":
            self.out.writelines(os.fsencode(name) + b"\0" for _, name in self._files())
            return 0
        for path, name in self._files():
            if self._is_left_out(name):
                continue
            try:
                text = _text(path, explicit=bool(self.job["file"]))
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno == errno.ELOOP:  # Links are not followed.
                    continue
                sys.stderr.write(f"grep: {name}: {error.strerror} (os error {error.errno})\n")
                continue
            self.searched += 1
            if text is not None and not self.job["multiline"]:
                text = text.replace("\r\n", "\n").removesuffix("\r")  # so that $ and the end of a line are the same
            if text is not None and self.regex.search(text):
                self._search(name, text)
                self.out.flush()
        if not self.searched:
            sys.stderr.write("grep: No files were searched.\n")
        return 0 if self.found else 1

    def _files(self) -> Iterator[tuple[str, str]]:
        job = self.job
        if job["file"]:
            yield job["file"], f"./{os.path.basename(job['file'])}"
            return
        from pegboard_ignore import IgnoreRules, Scope, walk  # A search of a single file does without.

        scope = Scope.of(
            job["root"],
            project=job["base"],
            include_ignored=job["include_ignored"],
            hidden=job["hidden"],
            named=job["named"],
        )
        globs = IgnoreRules.from_globs(job["globs"])
        types = IgnoreRules.from_globs(globs_of(job["type"])) if job["type"] else None
        for folder in walk(scope):
            names = [name for name in folder.names if globs.keeps(folder.relative + name, name)]
            if types is not None:
                names = [name for name in names if types.keeps(folder.relative + name, name)]
            for name in sorted(folder.kept(names)):
                path = f"{folder.path.rstrip('/')}/{name}"
                yield path, f"./{os.path.relpath(path, job['base'])}"

    def _is_left_out(self, name: str) -> bool:
        names = name.removeprefix("./").split("/")
        return bool(self.left_out) and any("/".join(names[:count]) in self.left_out for count in range(len(names) + 1))

    def _search(self, name: str, text: str) -> None:
        mode = self.job["mode"]
        if self.job["multiline"]:
            rows = _spanning(self.regex, text, only=self.job["only_matching"] and mode == "content")
        else:
            rows = _by_line(self.regex, text, only=self.job["only_matching"] and mode == "content")
        head = os.fsencode(name) + b"\0"
        if mode == "content":
            self._print_lines(head, rows, text)
            return
        count = sum(1 for _ in self.regex.finditer(text)) if self.job["multiline"] else sum(1 for _ in rows)
        if count:
            self.found = True
            self.out.write(head if mode == "files_with_matches" else head + b"%d\n" % count)

    def _print_lines(self, head: bytes, rows: Iterator[tuple[int, int, str]], text: str) -> None:
        before, after = (0, 0) if self.job["only_matching"] else (self.job["before"], self.job["after"])
        matched = list(rows)
        self.found = self.found or bool(matched)
        if not before and not after:
            for line, column, shown in matched:
                self.out.write(b"%s%d:%d:%s\n" % (head, line, column, _bytes(shown)))
            return
        lines = _lines(text)
        numbers = {line: (column, shown) for line, column, shown in reversed(matched)}
        around = {at for line in numbers for at in range(line - before, line + after + 1) if 0 < at <= len(lines)}
        for at in sorted(around):
            if at in numbers:
                column, shown = numbers[at]
                self.out.write(b"%s%d:%d:%s\n" % (head, at, column, _bytes(shown)))
            else:
                self.out.write(b"%s%d-%s\n" % (head, at, _bytes(lines[at - 1])))


def _text(path: str, *, explicit: bool) -> str | None:
    """A file as text; None for a binary file or one that is not regular. Opening never blocks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if explicit else os.O_NOFOLLOW))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        head = file.read(SAMPLE)
        bom, encoding = next(((bom, name) for bom, name in BOMS if head.startswith(bom)), (b"", "utf-8"))
        if encoding == "utf-8" and b"\0" in head:
            return None
        data = head + file.read(LARGEST)
    if encoding != "utf-8":
        return data[len(bom) :].decode(encoding, "replace")
    if (nul := data.find(b"\0")) >= 0:
        data = data[: data.rfind(b"\n", 0, nul) + 1]
    return data.removeprefix(bom).decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _by_line(regex: re.Pattern[str], text: str, *, only: bool) -> Iterator[tuple[int, int, str]]:
    """The lines that match: number, column in bytes, and the line or the match."""
    for number, line in enumerate(_lines(text), 1):
        if not only:
            if found := regex.search(line):
                yield number, _column(line, found.start()), line
            continue
        for found in regex.finditer(line):
            yield number, _column(line, found.start()), found.group()


def _spanning(regex: re.Pattern[str], text: str, *, only: bool) -> Iterator[tuple[int, int, str]]:
    """The lines that matches touch, each once; or with `only` the part of the match on each line."""
    lines, last = _lines(text), 0
    for found in regex.finditer(text):
        if found.start() == len(text) and text.endswith("\n"):
            continue
        first = text.count("\n", 0, found.start()) + 1
        column = _column(lines[first - 1], found.start() - (text.rfind("\n", 0, found.start()) + 1))
        if only:
            for offset, piece in enumerate(found.group().split("\n")):
                if piece:
                    yield first + offset, column if not offset else 1, piece
            continue
        count = found.group().removesuffix("\n").count("\n")
        for number in range(max(first, last + 1), min(first + count, len(lines)) + 1):
            yield number, column if number == first else 1, lines[number - 1]
            last = number


def _column(line: str, at: int) -> int:
    return len(_bytes(line[:at])) + 1


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def main() -> int:
    """Run the job on standard input."""
    job = json.loads(sys.stdin.buffer.read())
    sys.path.insert(0, job["library"])
    try:
        with open(1, "wb", SAMPLE, closefd=False) as out:
            return Engine(job, out).run()
    except UnsupportedPatternError as refused:
        sys.stderr.write(f"grep: {refused}\n")
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
