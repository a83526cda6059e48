"""Replace exact text in a file and leave every other byte alone."""

from __future__ import annotations

from pathlib import Path

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl
from pegboard.wording import counted
from pegboard_edit.edit_output import EditOutput
from pegboard_edit.edits import Applied, MatchRules, Replacement, apply_all
from pegboard_edit.match import LEVELS
from pegboard_files import FileState
from pegboard_files.encodings import view_of
from pegboard_files.patches import Patch, patch
from pegboard_files.placeholders import placeholders
from pegboard_files.records import structured_patch, terminal_text
from pegboard_files.safe_open import real_path
from pegboard_files.text_file import TextFile, new_text_file, refuse_lossy, regular_bytes, text_file

SNIPPET_CONTEXT = 3
SNIPPET_LINES = 40
DIFF_LINES = 200


class OneEdit(Input):
    old_string: str
    """The exact text to replace."""
    new_string: str
    """The text to put in its place."""
    replace_all: bool = False
    """Replace every occurrence."""


class EditInput(Input):
    file_path: Path
    """The file to change. A relative path starts at the working directory."""
    old_string: str | None = None
    """The exact text to replace, as Read shows it without the line numbers. It must be in the file once."""
    new_string: str | None = None
    """The text to put in its place."""
    replace_all: bool = False
    """Replace every occurrence."""
    edits: list[OneEdit] | None = None
    """Several replacements, applied in order: each sees the result of the previous one. If one fails, none is made."""

    def replacements(self) -> list[Replacement]:
        """The replacements to make, in order."""
        if self.edits is not None:
            return [Replacement(edit.old_string, edit.new_string, edit.replace_all) for edit in self.edits]
        return [Replacement(self.old_string or "", self.new_string or "", self.replace_all)]


class Edit(Tool[EditInput, EditOutput]):
    """Replace exact text in a file.

    old_string must match the file exactly, whitespace included, and only once unless replace_all is set: add lines
    around it until it does. An empty old_string creates a file that does not exist.
    """

    open_world = False
    aliases = ("MultiEdit",)
    search_hint = "change modify replace text in file"
    rule_subject = "path"
    rule_parameter = "file_path"
    interrupt_behavior = "block"

    def validate_input(self, args: EditInput, /) -> str | None:
        single = args.old_string is not None or args.new_string is not None
        if args.edits is not None and single:
            return "give either old_string and new_string, or edits, not both."
        if args.edits is None and (args.old_string is None or args.new_string is None):
            missing = "old_string" if args.old_string is None else "new_string"
            return f"{missing} is missing. Give old_string and new_string, or edits."
        return "edits is empty. Give at least one replacement." if args.edits == [] else None

    def facts(self, args: EditInput, ctx: Context, /) -> Facts:
        path = ctx.resolve(args.file_path)
        return Facts(open_world=False, reads=(path,), writes=(path,))

    def call(self, args: EditInput, ctx: Context, /) -> EditOutput:
        path = ctx.resolve(args.file_path)
        edits = args.replacements()
        with ctx.files.lock(path):
            before, applied, known = _worked_out(path, edits, ctx)
            data = before.encoded(applied.text)
            is_new = not before.digest
            if is_new:
                _make_folder(Path(real_path(path, ctx.approved_paths, change=True)))
            same = known is not None and known.digest == before.digest
            like = before.state_for(applied.text, complete=is_new or (same and known is not None and known.complete))
            written = ctx.files.write(
                path, data, expected_digest=before.digest, like=like, approved_paths=ctx.approved_paths
            )
        notes = [*_remarks(before, applied, edits, known), *written.notes]
        return _output(before, applied, edits, notes)

    def content(self, value: EditOutput, /) -> str:
        if value.created:
            words = f"Created {value.file_path} ({value.added} {'line' if value.added == 1 else 'lines'})."
        else:
            times = "1 replacement" if value.replacements == 1 else f"{value.replacements} replacements"
            words = f"Edited {value.file_path}: {times}, +{value.added} -{value.removed} lines."
            words += f"\n{value.snippet}" if value.snippet else ""
        return "\n".join([words, *(f"({note})" for note in value.notes)])

    def describe(self, args: EditInput, /) -> str:
        edits = args.replacements()
        if len(edits) > 1:
            return f"Edit {args.file_path} in {len(edits)} places"
        if not edits[0].old:
            return f"Create {args.file_path} with {counted(len(edits[0].new), 'character')}"
        every, lines = "every occurrence of " if edits[0].replace_all else "", edits[0].old.count("\n") + 1
        return f"Edit {args.file_path}: replace {every}{lines} {'line' if lines == 1 else 'lines'} of text"

    def preview(self, args: EditInput, ctx: Context, /) -> str | None:
        path = ctx.resolve(args.file_path)
        try:
            before, applied, _ = _worked_out(path, args.replacements(), ctx)
        except ToolError as error:
            return f"This call would fail: {error.message}"
        return _patch(before, applied).text(str(path), DIFF_LINES)

    def render_use(self, args: EditInput, /) -> object | None:
        return terminal_text(self.describe(args))

    def render_result(self, value: EditOutput, /) -> object | None:
        try:
            from rich.syntax import Syntax  # Imported late: only a terminal needs rich, and not every host installs it.
        except ImportError:
            return None
        return Syntax(value.diff, "diff", background_color="default")

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(f"Edit failed: {message}")


def _worked_out(path: Path, edits: list[Replacement], ctx: Context) -> tuple[TextFile, Applied, FileState | None]:
    """The file before and after the edit; nothing is written."""
    if path.suffix == ".ipynb":
        raise ToolError(f"{path} is a notebook. Use NotebookEdit to change its cells.", code="unsupported")
    data = regular_bytes(path, ctx.approved_paths)
    creates = len(edits) == 1 and not edits[0].old
    if data is None:
        if not creates:
            raise ToolError(f"There is no file {path}. Use Glob to find the right path.", code="not_found")
        before = new_text_file(path)
        return before, Applied(before.styled(edits[0].new), 1, ["create"]), None
    known = ctx.files.known(path)
    before = text_file(path, data, known)
    refuse_lossy(before)
    if creates and not data[len(before.bom) :]:
        return before, Applied(before.styled(edits[0].new), 1, ["exact"]), known
    has_changed = known is not None and known.digest != before.digest
    if ctx.settings.get("edit.knowledge") == "strict":
        _require_reading(before, known, edits)
    has_seen = known is not None and not has_changed and known.complete
    applied = apply_all(before, edits, MatchRules(_levels(ctx), has_seen, has_changed))
    return before, applied, known


def _require_reading(before: TextFile, known: FileState | None, edits: list[Replacement]) -> None:
    if known is None:
        raise ToolError(f"{before.path} has not been read in this conversation. Read it first.", code="stale")
    if not known.complete and not _has_viewed(before, known, edits):
        raise ToolError(f"{before.path} has been read only in part. Read the rest of it first.", code="stale")


def _has_viewed(before: TextFile, known: FileState, edits: list[Replacement]) -> bool:
    """Whether a shell command has shown exactly the lines to be replaced."""
    if known.source != "view" or known.digest != before.digest:
        return False
    lines = before.view.split("\n")
    shown = ["\n".join(lines[first - 1 : last]) for first, last in known.ranges]
    return all(edit.old and any(edit.old.replace("\r\n", "\n") in part for part in shown) for edit in edits)


def _levels(ctx: Context) -> tuple[str, ...]:
    levels = tuple(ctx.settings.get("edit.tolerance"))
    if unknown := [level for level in levels if level not in LEVELS]:
        raise ToolError(f"The setting edit.tolerance has no level {unknown[0]!r}. The levels are {', '.join(LEVELS)}.")
    return levels


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"Cannot create the folder {path.parent}: {error.strerror}.") from None


def _remarks(before: TextFile, applied: Applied, edits: list[Replacement], known: FileState | None) -> list[str]:
    notes = list[str]()
    if known is not None and known.digest != before.digest:
        notes.append("The file has changed since you read it; this edit was applied on top of those changes.")
    for strategy in dict.fromkeys(applied.strategies):
        if strategy not in ("exact", "create"):
            notes.append(f"There was no exact match; a tolerant match was used: {strategy}.")
    if found := [line for edit in edits for line in placeholders(edit.new, before.text)]:
        notes.append(f"Warning: {found[0]!r} looks like a placeholder for omitted text; it is now in the file.")
    return notes


def _patch(before: TextFile, applied: Applied) -> Patch:
    return patch(before.view, view_of(applied.text, before.newline))


def _output(before: TextFile, applied: Applied, edits: list[Replacement], notes: list[str]) -> EditOutput:
    made = _patch(before, applied)
    ranks = ("exact", "create", *LEVELS)
    return EditOutput(
        file_path=str(before.path),
        old_string=edits[0].old if len(edits) == 1 else "",
        new_string=edits[0].new if len(edits) == 1 else "",
        replace_all=any(edit.replace_all for edit in edits),
        replacements=applied.replacements,
        match_strategy=max(applied.strategies, key=ranks.index),
        structured_patch=structured_patch(made.hunks),
        diff=made.text(str(before.path), DIFF_LINES),
        added=made.added,
        removed=made.removed,
        snippet=_snippet(made),
        encoding=before.encoding,
        newline=before.newline,
        created=not before.digest,
        original_digest=before.digest,
        notes=notes,
    )


def _snippet(made: Patch) -> str:
    """The new lines around each change, numbered as Read would number them."""
    lines = list[str]()
    for hunk in made.hunks:
        if lines:
            lines.append("…")
        kept = [line[1:].split("\n")[0] for line in hunk.lines if line[0] != "-"]
        lines += (f"{number}\t{line}" for number, line in enumerate(kept, hunk.new_start))
    left = len(lines) - SNIPPET_LINES
    return "\n".join(lines[:SNIPPET_LINES] + ([f"({counted(left, 'more line')})"] if left > 0 else []))


@hookimpl
def register_tools() -> list[Edit]:
    return [Edit()]
