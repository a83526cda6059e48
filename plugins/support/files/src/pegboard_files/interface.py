"""What a tool may ask of `ctx.files`, and the plain data that it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileState:
    """What this conversation knows about a file: enough to tell whether it changed and how to write it back.

    Plain data: `dataclasses.asdict` and `FileState(**data)` carry it through a transcript.
    """

    digest: str
    """The SHA-256 of the bytes; empty for a file too large to be read whole."""
    size: int
    mtime_ns: int
    encoding: str = "utf-8"
    newline: str = "\n"
    """How most lines end: a line feed, a carriage return with one, or a lone carriage return."""
    bom: bool = False
    complete: bool = True
    """False when only part of the file was shown: such a view never entitles to overwrite."""
    source: str = "read"
    mixed: bool = False
    """Whether lines end in more than one way."""
    ranges: tuple[tuple[int, int], ...] = ()
    """The lines that were shown, first and last, when not all were."""
    total_lines: int | None = None
    ctime_ns: int = 0
    settled: bool = False
    """Whether the file was old enough, when it was looked at, for its times to tell a later change."""


@dataclass(frozen=True, slots=True)
class Undo:
    """How to take a write back, for a plugin that keeps checkpoints."""

    path: Path
    before: str
    """The digest of the bytes that were there; empty when there was no file."""
    after: str
    """The digest of the new bytes; empty when there is no file any more."""
    stored: Path | None
    """The file with the earlier bytes; None when there were none, or no place to keep them."""
    mode: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did."""

    state: FileState
    undo: Undo
    notes: tuple[str, ...] = ()
    """What the caller should know, such as a file with several names that was written in place."""


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A file was read or written through the file service."""

    kind: str
    """`read`, `written` or `removed`."""
    path: Path
    state: FileState
    undo: Undo | None = None


FileListener = Callable[[FileEvent], None]


class Files(Protocol):
    """One shared memory of files for Read, Edit, Write and shell viewers, and the one safe way to write."""

    def known(self, path: Path) -> FileState | None:
        """What the conversation last saw of this file, or None."""
        ...

    def known_paths(self) -> Sequence[Path]:
        """Every file that the conversation has seen or written, in the order in which it came to know them."""
        ...

    def note(self, path: Path, state: FileState, view: str = "") -> None:
        """Remember what was just shown; parts of the same content add up, and all of them are the whole.

        A `view` names exactly what went into the conversation, so that `shows_again` can tell. Without a conversation,
        and in the calls that a tool makes, views are not kept.
        """
        ...

    def forget(self, path: Path) -> None:
        """Another program may have changed this file."""
        ...

    def is_current(self, path: Path, state: FileState) -> bool:
        """Whether the file still has this content: its times only save the reading, its bytes decide."""
        ...

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """Keep other threads and processes that use this service from changing the file; take one at a time."""
        ...

    def write(
        self,
        path: Path,
        data: bytes,
        *,
        expected_digest: str | None = None,
        like: FileState | None = None,
        approved_paths: Mapping[str, bool] | None = None,
    ) -> Written:
        """Replace a file so that at every moment it is either the old or the new bytes.

        With `expected_digest` the write is refused as `stale` when the file is no longer what was read; the empty
        digest means "no such file". `like` carries encoding, newline style, BOM and whether the conversation
        knows the whole file over to what is remembered. `approved_paths` is `ctx.approved_paths`: a link that leads
        elsewhere by now is refused.
        """
        ...

    def remove(self, path: Path, *, expected_digest: str, approved_paths: Mapping[str, bool] | None = None) -> Undo:
        """Delete a file that is still what was read. Its bytes are kept as those of a write are."""
        ...

    def move(
        self, path: Path, to: Path, *, expected_digest: str, approved_paths: Mapping[str, bool] | None = None
    ) -> tuple[Undo, Undo]:
        """Rename a file that is still what was read to a name that is free, and how to take back both halves."""
        ...

    def shows_again(self, path: Path, view: str) -> bool:
        """Whether this view of an unchanged file is still in the conversation; always no where there is none.

        The answer is yes only once after each showing: whoever asks again does not have it any more.
        """
        ...

    def forget_views(self) -> None:
        """Earlier results have left the conversation, as after compaction; what is known about files stays."""
        ...

    def scratch(self, name: str) -> Path:
        """A private folder for what belongs to a result but not into it, such as the pages of a document."""
        ...

    def listen(self, listener: FileListener) -> Callable[[], None]:
        """Be told after each read and write; the callable returned ends it."""
        ...

    def undo_entries(self) -> Sequence[Undo]:
        """Every write of this session, newest last, sub-agents included."""
        ...

    def fork(self, *, conversation: bool = False) -> Files:
        """A copy that knows the same files and learns on its own.

        With `conversation` it belongs to a session or a sub-agent and keeps what was shown there; without, it belongs
        to the calls that one tool makes.
        """
        ...
