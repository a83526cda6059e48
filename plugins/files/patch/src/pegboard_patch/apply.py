"""Take all steps of a patch, or none: what was done before a failure is taken back, newest first."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pegboard import Context, ToolError
from pegboard_files import FileState, Undo
from pegboard_files.safe_open import open_approved, real_path
from pegboard_patch.plan import Step

Back = Callable[[], object]


def apply(steps: list[Step], ctx: Context) -> list[list[str]]:
    """Change the files, deletions last. Returns what is to be said about each step."""
    undo, said = list[tuple[Path, Back]](), dict[int, list[str]]()
    try:
        for number in sorted(range(len(steps)), key=lambda number: steps[number].kind == "delete"):
            step = steps[number]
            said[number] = [*step.notes, *_take(step, ctx, undo)]
    except BaseException as error:
        failed = _take_back(undo)
        if not isinstance(error, ToolError):
            raise
        raise _worded(error, len(said), failed) from None
    return [said[number] for number in range(len(steps))]


def _take(step: Step, ctx: Context, undo: list[tuple[Path, Back]]) -> tuple[str, ...]:
    files, allowed, before = ctx.files, ctx.approved_paths, step.before
    if step.kind == "delete":
        gone = files.remove(step.path, expected_digest=before.digest, approved_paths=allowed)

        def restore() -> None:
            files.write(step.path, before.data, expected_digest="", approved_paths=allowed)
            _set_mode(step.path, gone.mode, ctx)

        undo.append((step.path, restore))
        return ()
    place, known = step.path, step.known
    if step.kind == "add":
        _make_folders(place, ctx, undo)
    if step.move_to:
        _make_folders(step.move_to, ctx, undo)
        files.move(place, step.move_to, expected_digest=before.digest, approved_paths=allowed)
        old, new = place, step.move_to
        undo.append((old, lambda: files.move(new, old, expected_digest=before.digest, approved_paths=allowed)))
        place = step.move_to
    if step.kind != "add" and step.data == before.data:
        return ()
    is_whole = step.kind == "add" or (known is not None and known.digest == before.digest and known.complete)
    like = before.state_for(step.text, complete=is_whole)
    done = files.write(place, step.data, expected_digest=before.digest, like=like, approved_paths=allowed)
    undo.append((place, _back(ctx, place, done.undo, before.data, known)))
    return done.notes


def _back(ctx: Context, place: Path, done: Undo, data: bytes, known: FileState | None) -> Back:
    files, allowed = ctx.files, ctx.approved_paths
    if not done.before:
        return lambda: files.remove(place, expected_digest=done.after, approved_paths=allowed)
    like = replace(known, digest="", size=0, mtime_ns=0) if known else None
    return lambda: files.write(place, data, expected_digest=done.after, like=like, approved_paths=allowed)


def _make_folders(path: Path, ctx: Context, undo: list[tuple[Path, Back]]) -> None:
    """The folders above a new file; those that were not there go again if the patch fails."""
    place = Path(real_path(path, ctx.approved_paths, change=True))
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"Cannot create the folder {place.parent}: {error.strerror}.") from None
    undo += [(folder, folder.rmdir) for folder in reversed(missing)]


def _set_mode(path: Path, mode: int, ctx: Context) -> None:
    """Through a descriptor: a link that has taken the place of the file must not pass the mode on."""
    descriptor = open_approved(path, ctx.approved_paths, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _take_back(undo: list[tuple[Path, Back]]) -> list[Path]:
    """Undo what was done, newest first. Returns what could not be undone."""
    failed = list[Path]()
    for path, back in reversed(undo):
        try:
            back()
        except (ToolError, OSError):
            failed.append(path)
    return [path for path in failed if not _is_folder(path)]


def _is_folder(path: Path) -> bool:
    """A folder that another program has put something into stays."""
    with suppress(OSError):
        return path.is_dir()
    return False


def _worded(error: ToolError, done: int, failed: list[Path]) -> ToolError:
    if failed:
        names = ", ".join(map(str, failed))
        reason = f"{error.message} Taking the patch back failed for {names}: check them before you continue."
        return ToolError(reason, code="lost", remedy="")
    more = " The files before it in the patch were put back, so nothing has changed." if done else ""
    return ToolError(f"{error.message}{more}", code=error.code, remedy=error.remedy)
