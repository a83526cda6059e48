"""Create a file or replace its whole content."""

from __future__ import annotations

import os
from pathlib import Path

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl
from pegboard.wording import counted
from pegboard_files.encodings import view_of
from pegboard_files.patches import Patch, patch
from pegboard_files.records import structured_patch, terminal_text
from pegboard_files.safe_open import real_path
from pegboard_files.text_file import TextFile, new_text_file, regular_bytes, text_file
from pegboard_write.guards import refuse_content, refuse_loss, refuse_unread
from pegboard_write.write_output import WriteOutput

DIFF_LINES = 200


class WriteInput(Input):
    file_path: Path
    """The file to write. A relative path starts at the working directory; missing folders are created."""
    content: str
    """The whole new content."""


class Write(Tool[WriteInput, WriteOutput]):
    """Create a file, or replace the whole content of one that you have read in full.

    Missing folders are created. To change a part of a file, use Edit.
    """

    open_world = False
    search_hint = "create save overwrite file"
    rule_subject = "path"
    rule_parameter = "file_path"
    capability = "edit"
    interrupt_behavior = "block"

    def facts(self, args: WriteInput, ctx: Context, /) -> Facts:
        return Facts(open_world=False, writes=(ctx.resolve(args.file_path),))

    def call(self, args: WriteInput, ctx: Context, /) -> WriteOutput:
        path = ctx.resolve(args.file_path)
        refuse_content(path, args.content, ctx)
        with ctx.files.lock(path):
            data = regular_bytes(path, ctx.approved_paths)
            if data is None:
                return _create(path, args.content, ctx)
            return _update(path, data, args.content, ctx)

    def content(self, value: WriteOutput, /) -> str:
        words = {"create": "Created", "update": "Replaced", "unchanged": "No change to"}[value.type]
        counts = f", +{value.added} -{value.removed} lines" if value.type == "update" else ""
        lines = [f"{words} {value.file_path} ({counted(value.bytes, 'byte')}{counts})."]
        if value.made_folders:
            lines.append(f"(Created the folder {value.made_folders[-1]}.)")
        if value.type == "update":
            lines.append(value.diff)
        return "\n".join([*lines, *(f"({note})" for note in value.notes)])

    def describe(self, args: WriteInput, /) -> str:
        return f"Write {counted(len(args.content), 'character')} to {args.file_path}"

    def preview(self, args: WriteInput, ctx: Context, /) -> str | None:
        path = ctx.resolve(args.file_path)
        try:
            data = regular_bytes(path, ctx.approved_paths)
            before = new_text_file(path) if data is None else text_file(path, data, ctx.files.known(path))
        except ToolError as error:
            return f"This call would fail: {error.message}"
        return patch(before.view, args.content.replace("\r\n", "\n")).text(str(path), DIFF_LINES)

    def render_use(self, args: WriteInput, /) -> object | None:
        return terminal_text(self.describe(args))

    def render_result(self, value: WriteOutput, /) -> object | None:
        try:
            from rich.syntax import Syntax  # Imported late: only a terminal needs rich, and not every host installs it.
        except ImportError:
            return None
        return Syntax(value.diff, "diff", background_color="default") if value.diff else None

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(f"Write failed: {message}")


def _create(path: Path, content: str, ctx: Context) -> WriteOutput:
    folders = _make_folders(Path(real_path(path, ctx.approved_paths, change=True)))
    before = new_text_file(path)
    text = before.styled(content)
    data = before.encoded(text)
    notes = _case_clash(path)
    like = before.state_for(text, complete=True)
    done = ctx.files.write(path, data, expected_digest="", like=like, approved_paths=ctx.approved_paths)
    return _output("create", before, text, len(data), [*notes, *done.notes], folders)


def _update(path: Path, data: bytes, content: str, ctx: Context) -> WriteOutput:
    known = ctx.files.known(path)
    before = text_file(path, data, known)
    text = before.styled(content)
    new = before.encoded(text)
    if new == data or view_of(text, before.newline) == before.view:  # Mixed line endings alone are no reason to write.
        return _output("unchanged", before, before.text, len(data), [], [])
    refuse_unread(before, known)
    refuse_loss(before, content, ctx)
    like = before.state_for(text, complete=True)
    done = ctx.files.write(path, new, expected_digest=before.digest, like=like, approved_paths=ctx.approved_paths)
    return _output("update", before, text, len(new), [*_remarks(before, text), *done.notes], [])


def _remarks(before: TextFile, text: str) -> list[str]:
    notes = list[str]()
    ended, ends = before.text.endswith(("\n", "\r")), text.endswith(("\n", "\r"))
    if before.text and text and ended != ends:
        notes.append(
            f"The file {'ended' if ended else 'did not end'} with a newline and now {'does' if ends else 'does not'}."
        )
    if before.mixed:
        kind = "CRLF" if before.newline == "\r\n" else "LF"
        notes.append(f"The file had mixed line endings; all lines now end with {kind}.")
    return notes


def _make_folders(path: Path) -> list[str]:
    missing = list[str]()
    for folder in path.parents:
        if folder.exists():
            break
        missing.append(str(folder))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"Cannot create the folder {path.parent}: {error.strerror}.") from None
    return missing[::-1]


def _case_clash(path: Path) -> list[str]:
    """Warn about names that differ only in case: on some other systems they would be one file."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    same = [name for name in names if name != path.name and name.casefold() == path.name.casefold()]
    return [f"{same[0]} also exists and differs only in upper and lower case."] if same else []


def _output(kind: str, before: TextFile, text: str, size: int, notes: list[str], folders: list[str]) -> WriteOutput:
    made = patch(before.view, view_of(text, before.newline)) if kind == "update" else Patch((), 0, 0)
    return WriteOutput.model_validate(
        {
            "type": kind,
            "file_path": str(before.path),
            "bytes": size,
            "structured_patch": structured_patch(made.hunks),
            "diff": made.text(str(before.path), DIFF_LINES) if made.hunks else "",
            "added": made.added,
            "removed": made.removed,
            "encoding": before.encoding,
            "newline": before.newline,
            "made_folders": folders,
            "original_digest": before.digest,
            "notes": notes,
        }
    )


@hookimpl
def register_tools() -> list[Write]:
    return [Write()]
