"""What a patch would do, worked out in full before anything is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pegboard import Context, ToolError
from pegboard_files import FileState
from pegboard_files.encodings import view_of
from pegboard_files.patches import patch
from pegboard_files.placeholders import placeholders
from pegboard_files.records import structured_patch
from pegboard_files.safe_write import digest
from pegboard_files.splice import spliced
from pegboard_files.text_file import TextFile, new_text_file, refuse_lossy, regular_bytes, text_file
from pegboard_patch.match import LEVELS, find_hunks
from pegboard_patch.parsing import FilePatch, parts_of
from pegboard_patch.patch_output import PatchedFile

DIFF_LINES = 200


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one file."""

    kind: str
    """`add`, `delete`, `update` or `move`."""
    path: Path
    before: TextFile
    text: str
    """The new text; empty for a file that goes."""
    known: FileState | None = None
    move_to: Path | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        """The new bytes."""
        return self.before.encoded(self.text)

    def outcome(self, notes: list[str]) -> PatchedFile:
        """What is told about it."""
        made = patch(self.before.view, view_of(self.text, self.before.newline))
        return PatchedFile.model_validate(
            {
                "type": self.kind,
                "file_path": str(self.path),
                "move_to": str(self.move_to or ""),
                "structured_patch": structured_patch(made.hunks),
                "diff": made.text(str(self.move_to or self.path), DIFF_LINES) if made.hunks else "",
                "added": made.added,
                "removed": made.removed,
                "original_digest": self.before.digest,
                "notes": notes,
            }
        )


def plan(text: str, ctx: Context) -> list[Step]:
    """All steps, each checked against the files as they are; a `ToolError` for the first that cannot be taken."""
    parts = parts_of(text)
    _refuse_twice(parts, ctx)
    levels = tuple(ctx.settings.get("patch.tolerance"))
    if unknown := [level for level in levels if level not in LEVELS]:
        raise ToolError(f"The setting patch.tolerance has no level {unknown[0]!r}. The levels are {', '.join(LEVELS)}.")
    return [_step(part, ctx, levels) for part in parts]


def _refuse_twice(parts: tuple[FilePatch, ...], ctx: Context) -> None:
    """One part for a file: what a second one means would depend on the first."""
    seen = dict[str, str]()
    for part in parts:
        for name in filter(None, (part.path, part.move_to)):
            real = os.path.realpath(ctx.resolve(Path(name)))
            if real in seen:
                other = f" (also as {seen[real]})" if seen[real] != name else ""
                raise ToolError(f"{name}{other} is in the patch twice. Put all changes to a file into one part.")
            seen[real] = name


def _step(part: FilePatch, ctx: Context, levels: tuple[str, ...]) -> Step:
    path = ctx.resolve(Path(part.path))
    data = regular_bytes(path, ctx.approved_paths)
    if part.kind == "add":
        return _add(part, path, data)
    if data is None:
        raise ToolError(f"There is no file {path}. Use Glob to find the right path.", code="not_found")
    known = ctx.files.known(path)
    if part.kind == "delete":
        return _delete(path, data, known)
    return _update(part, path, data, known, ctx, levels)


def _add(part: FilePatch, path: Path, data: bytes | None) -> Step:
    if data is not None:
        raise ToolError(f"{path} already exists. Update it instead of adding it.")
    before = new_text_file(path)
    return Step("add", path, before, before.styled(part.content), notes=_warnings(part, ""))


def _delete(path: Path, data: bytes, known: FileState | None) -> Step:
    before = _any_file(path, data, known)
    if known is None:
        raise ToolError(f"{path} has not been read in this conversation. Read it before you delete it.", code="stale")
    if known.digest != before.digest:
        raise ToolError(f"{path} has changed since it was read. Read it again before you delete it.", code="stale")
    return Step("delete", path, before, "", known)


def _any_file(path: Path, data: bytes, known: FileState | None) -> TextFile:
    """A file that goes need not be text."""
    try:
        return text_file(path, data, known)
    except ToolError:
        return TextFile(path, data, digest(data), "binary", b"", "", "\n", False)


def _update(
    part: FilePatch, path: Path, data: bytes, known: FileState | None, ctx: Context, levels: tuple[str, ...]
) -> Step:
    if path.suffix == ".ipynb" and part.hunks:
        raise ToolError(f"{path} is a notebook. Use NotebookEdit to change its cells.", code="unsupported")
    before = text_file(path, data, known) if part.hunks else _any_file(path, data, known)
    has_changed = known is not None and known.digest != before.digest
    has_seen = known is not None and not has_changed and known.complete
    if not has_seen and (ctx.settings.get("patch.knowledge") == "strict" or not part.hunks):
        why = "has changed since it was read" if has_changed else "has not been read in full in this conversation"
        raise ToolError(f"{path} {why}. Read it first.", code="stale")
    text, notes = before.text, _warnings(part, before.text)
    if part.hunks:
        refuse_lossy(before)
        found = find_hunks(before.view, part.hunks, levels, str(path))
        if found.levels and not has_seen:
            reason = f"{path} has not been read in full, and the lines of the patch match it only approximately."
            raise ToolError(f"{reason} Read it first.", code="stale")
        text = spliced(before.text, before.view, before.newline, found.pieces)
        used = dict.fromkeys(found.levels)
        notes += [f"Some lines did not match exactly; a tolerant match was used: {level}." for level in used]
    if has_changed:
        notes.append("The file has changed since you read it; the patch was applied on top of those changes.")
    if not part.move_to:
        return Step("update", path, before, text, known, notes=notes)
    target = ctx.resolve(Path(part.move_to))
    if os.path.lexists(target):
        raise ToolError(f"{target} already exists, so {path} cannot be moved there.")
    return Step("move", path, before, text, known, target, notes)


def _warnings(part: FilePatch, before: str) -> list[str]:
    added = [text for hunk in part.hunks for mark, text in hunk.lines if mark == "+"]
    found = placeholders("\n".join(added) or part.content, before)
    return [f"Warning: {found[0]!r} looks like a placeholder for omitted text; it is now in the file."] if found else []
