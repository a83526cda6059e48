"""A place for results that are too long for a conversation: kept whole in a file, cut to size where they are shown.

Writing blocks; a caller on an event loop hands `fit` to a worker thread when the result is large.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

from pegboard import Block, Result, Text
from pegboard.hosting import text_size
from pegboard.settings import private_folder, state_dir
from pegboard_files.escapes import TERMINAL_ESCAPE

LONGEST_ESCAPE = 4_096
INTRODUCERS = re.compile("[\x1b\x9b\x9d]")
PREVIEW_CHARS = 4_000
"""How much of a saved result the model still sees, the remark about it included."""
RETENTION_DAYS = 30
SLICE = 1 << 20
SUFFIX = ".txt"


class ResultsStore:
    """The results folder of one session."""

    def __init__(
        self,
        folder: Path,
        *,
        retention_days: float | None = RETENTION_DAYS,
        preview_chars: int = PREVIEW_CHARS,
    ) -> None:
        """Keep results in `folder`, which is made when it is needed. What is older than the retention goes now."""
        self.folder = folder
        self._preview_chars = preview_chars
        if retention_days is not None:
            remove_old(folder, retention_days)

    @classmethod
    def for_session(
        cls, env: Mapping[str, str], session: str, *, retention_days: float | None = RETENTION_DAYS
    ) -> ResultsStore:
        """The store of a session below the user's state directory; what old sessions left behind goes now."""
        state = state_dir(env)
        folder = private_folder(Path(state, "results", _plain(session))) if state else None
        if folder is None:
            return cls(Path(tempfile.mkdtemp(prefix="pegboard-results-")), retention_days=None)
        if retention_days is not None:
            for other in _folders(folder.parent):
                remove_old(other, retention_days)
                # rmdir removes only what is empty, so a folder that another session is using stays.
                if other != folder:
                    with suppress(OSError):
                        other.rmdir()
        return cls(folder, retention_days=None)

    def fit(self, blocks: Sequence[Block], limit: int | None, name: str, call_id: str) -> tuple[Block, ...]:
        """The blocks as they are when their text is within the limit; otherwise a preview, with all text in a file.

        Pictures and documents stay as they are and where they are.
        """
        if limit is None or text_size(blocks) <= limit:
            return tuple(blocks)
        return self._save(blocks, min(limit, self._preview_chars), name, call_id)

    def fit_turn(self, results: Sequence[Result], budget: int) -> list[Result]:
        """The results of a turn so that their text is within the budget; the largest are saved first."""
        fitted = list(results)
        left = sum(text_size(result.content) for result in fitted)
        share = min(self._preview_chars, budget // max(len(fitted), 1))
        for index in sorted(range(len(fitted)), key=lambda index: -text_size(fitted[index].content)):
            result = fitted[index]
            before = text_size(result.content)
            if left <= budget or before <= share:
                break
            # Each result gets the same share of the budget, so one long result cannot crowd out the others.
            content = self._save(result.content, share, result.name, result.call_id)
            # A preview has a head and a path of its own, so for a short text it can be longer than the text.
            if text_size(content) < before:
                fitted[index] = replace(result, content=content)
                left -= before - text_size(content)
        return fitted

    def _save(self, blocks: Sequence[Block], room: int, name: str, call_id: str) -> tuple[Block, ...]:
        """One preview in place of the first text. A preview among the blocks is made shorter, never saved again."""
        if any(isinstance(block, Preview) for block in blocks):
            room //= 2
            blocks = [shrink(block, room) if isinstance(block, Preview) else block for block in blocks]
        texts = [block.text for block in blocks if _is_plain(block)]
        if not texts or sum(map(len, texts)) <= room:
            return tuple(blocks)
        path, problem = self._write(texts, name, call_id)
        first = next(index for index, block in enumerate(blocks) if _is_plain(block))
        rest = (block for block in blocks[first:] if not _is_plain(block))
        return (*blocks[:first], preview(texts, room, name, path, problem), *rest)

    def _write(self, texts: list[str], name: str, call_id: str) -> tuple[Path | None, str]:
        """Write all of it or nothing; a half-written file never has the name that the model is told."""
        stem = f"{_plain(name)}-{_plain(call_id)}-{secrets.token_hex(4)}"
        part = self.folder / f"{stem}.part"
        try:
            if private_folder(self.folder) is None:
                return None, "its folder cannot be used"
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                for piece in _pieces(texts):
                    file.write(piece)
            return part.rename(self.folder / f"{stem}{SUFFIX}"), ""
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            return None, error.strerror or str(error)


class BoardResults:
    """The service `results` of one board. Its folder is made, and old ones are cleared, when a result is too long."""

    def __init__(self, env: Mapping[str, str], retention_days: float | None = RETENTION_DAYS) -> None:
        # The name is chosen now: two threads that save the first result at the same time use the same folder.
        self._env, self._days, self._name = env, retention_days, secrets.token_hex(8)

    @cached_property
    def _store(self) -> ResultsStore:
        return ResultsStore.for_session(self._env, self._name, retention_days=self._days)

    def fit(self, blocks: Sequence[Block], limit: int | None, name: str, call_id: str) -> tuple[Block, ...]:
        """The blocks, or a preview where their text is beyond the limit."""
        return self._store.fit(blocks, limit, name, call_id)

    def fit_turn(self, results: Sequence[Result], budget: int) -> list[Result]:
        """The results of a turn within the budget."""
        return self._store.fit_turn(results, budget)


def remove_old(folder: Path, days: float) -> None:
    """Remove the files of a results folder that have not been written to for so many days."""
    limit = time.time() - days * 86_400
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):
            if (
                entry.name.endswith((SUFFIX, ".part"))
                and entry.is_file(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_mtime < limit
            ):
                Path(entry).unlink()


def _folders(root: Path) -> list[Path]:
    try:
        return [Path(entry) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_plain(block: Block) -> TypeGuard[Text]:
    return isinstance(block, Text) and not isinstance(block, Preview)


def _plain(text: str) -> str:
    """A piece of a file name: what came from a model or a plugin must not become a path."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:40].strip("-") or "result"


def _pieces(texts: list[str]) -> Iterable[bytes]:
    """The texts as bytes, a slice at a time, so that a result of any size costs no second copy of it."""
    for number, text in enumerate(texts):
        if number:
            yield b"\n"
        for start in range(0, len(text), SLICE):
            yield _encoded(text[start : start + SLICE])


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # bytes that were not text come out as they went in
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


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
