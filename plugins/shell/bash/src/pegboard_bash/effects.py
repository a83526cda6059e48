"""What one simple command would do, collected word by word."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from pegboard_bash.patterns import can_be_a_name, matches
from pegboard_bash.words import SUBSTITUTED, UNKNOWN, Word, absolute

MOST_ENTRIES = 20_000
"""Files and folders that are looked at below those a command names; beyond, it asks."""


@dataclass(slots=True)
class Bound:
    """How many files and folders may still be looked at."""

    left: int = MOST_ENTRIES

    def take(self) -> None:
        """Look at one more."""
        self.left -= 1
        if self.left < 0:
            raise TooManyError


class TooManyError(Exception):
    """There is more below a folder than can be looked at."""


@dataclass(slots=True)
class ShellState:
    """The state of the shell before a command: its possible working directories, the session's, and home."""

    start: str
    home: str
    cwds: tuple[str, ...]
    bound: Bound = field(default_factory=Bound)
    """One for the whole line."""

    @property
    def moved(self) -> bool:
        """Whether an earlier `cd` may have left the session's directory."""
        return any(os.path.normpath(cwd) != os.path.normpath(self.start) for cwd in self.cwds)


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A folder that is read with all below it."""

    folder: str
    without_folders: tuple[str, ...] = ()
    """Patterns of the names of folders that it leaves out."""
    without_files: tuple[str, ...] = ()
    only_files: tuple[str, ...] = ()
    """Patterns of the names of the only files that it reads."""
    git: str = ""
    """`index` where what git tracks is read instead, `history` where that was ever tracked may be."""


@dataclass(slots=True)
class Effects:
    """The effects of one simple command. It only reads until something says otherwise."""

    place: ShellState
    program: str = ""
    reason: str = ""
    """Why it is not taken for reading, in words; empty when it only reads."""
    known: bool = True
    """Whether the lists below tell all it does. A command that is not known may do anything."""
    open_world: bool = False
    destructive: bool = False
    exact: bool = False
    critical: str = ""
    """The part of it that deletes so much that only a person may approve it."""
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    inner: list[list[Word]] = field(default_factory=list)
    """Commands that this command runs."""
    strip: bool = False
    """Whether rules look at the command that is run instead of the one that runs it."""
    subtexts: list[str] = field(default_factory=list)
    """Scripts for a shell that the command runs, when they are plain text."""
    also: list[str] = field(default_factory=list)
    """Other spellings of it for rules that restrict."""
    trees: list[FolderTree] = field(default_factory=list)
    """Folders that it reads recursively, so that rules can be checked against what is in them."""

    def refuse(self, reason: str) -> None:
        """It may have effects that are not described: ask, with this reason."""
        self.known = False
        self.reason = self.reason or reason

    def changes(self, reason: str) -> None:
        """It changes something, and the lists say what."""
        self.reason = self.reason or reason

    def read(self, word: Word) -> None:
        """A file, or the files of a pattern, that is read."""
        for path in self._files(word):
            if path in NOWHERE:
                continue
            self.reads.append(path)
            self._special(path)

    def write(self, word: Word) -> None:
        """A file that is written."""
        if word.text in SINKS:
            return
        self.writes += self._files(word)
        self.changes(f"{self.program or 'It'} writes {word.text.replace(UNKNOWN, '…')}.")

    def delete(self, word: Word) -> None:
        """A file that is deleted."""
        under = word.text.partition(UNKNOWN)[2]
        if not word.literal and (under.endswith("/") or (word.glob and "/" in under)):
            self.critical = self.critical or word.source
        self.deletes += self._files(word)
        if word.glob and word.literal:
            self.deletes += [absolute(word.text, cwd) for cwd in self.place.cwds]
        self.changes(f"{self.program} deletes {word.text.replace(UNKNOWN, '…')}.")

    def named_by(self, word: Word) -> list[str] | None:
        """The words that a pattern becomes now, in any of the possible places; None where that is not known."""
        found: list[str] = []
        for cwd in self.place.cwds:
            matched = matches(word, cwd)
            if matched is None:
                return None
            found += matched
        return found

    def stays(self, word: Word) -> bool:
        """Whether a word reaches the program as it is written: it is no pattern, or one that matches nothing now."""
        return not word.glob or self.named_by(word) == []

    def _special(self, path: str) -> None:
        """`//proc`, `/./proc` and `../proc` lead there too; behind a link only the file system knows where `..` is."""
        plain = path
        if "//" in path or "/." in path:
            plain = os.path.normpath(path).replace("//", "/")
            if "/.." in path and not plain.startswith(("/proc", "/dev")):
                plain = os.path.realpath(path)
        if plain.startswith("/dev/"):
            self.refuse(f"{path} is a device or a connection.")
        elif plain.startswith("/proc") and plain[5:6] in ("", "/") and not SAFE_PROC.fullmatch(plain):
            self.refuse(f"{path} may show the environment or the memory of a process.")

    def _files(self, word: Word) -> list[str]:
        if not word.literal:
            self.refuse(f"The value of {word.source} is known only when it runs.")
            return []
        if not can_be_a_name(word.text):
            self.refuse("A file name contains a NUL byte or a character that no file system can store.")
            return []
        if not word.glob:
            return [absolute(word.text, cwd) for cwd in self.place.cwds]
        found: list[str] = []
        for cwd in self.place.cwds:
            matched = matches(word, cwd)
            found += [absolute(match, cwd) for match in matched or ()]
            if matched is None:
                self.refuse(f"The files that {word.source} matches are not known, or too many to check.")
        return found or [absolute(word.text, cwd) for cwd in self.place.cwds]


NOWHERE = frozenset({"/dev/null", "/dev/stdin", SUBSTITUTED})
SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
SAFE_PROC = re.compile(
    r"/proc/(cpuinfo|meminfo|version|uptime|loadavg|stat|mounts|filesystems|partitions|diskstats|modules|swaps|devices)"
    r"|/proc/(self|\d+)/(status|stat|statm|limits|cgroup|comm|io|mountinfo|mounts|oom_score)"
    r"|/proc/sys/(kernel|fs|vm|net)/[\w/.-]+"
)
