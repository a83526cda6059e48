"""Replace, insert or delete one cell of a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl
from pegboard.wording import counted
from pegboard_files.patches import patch
from pegboard_files.records import Record, terminal_text
from pegboard_files.text_file import TextFile, refuse_lossy, regular_bytes, text_file
from pegboard_notebook.cells import changed_cell, find_cell, new_cell, source_of
from pegboard_notebook.notebook import Notebook

SUFFIX = ".ipynb"
DIFF_LINES = 200

EditMode = Literal["replace", "insert", "delete"]


class NotebookEditInput(Input):
    notebook_path: Path
    """The notebook. A relative path starts at the working directory."""
    new_source: str = ""
    """The whole new source of the cell. Not used when deleting."""
    cell_id: str | None = None
    """The id of the cell, as Read shows it. A new cell goes after it."""
    cell_number: int | None = Field(default=None, ge=1)
    """The number of the cell, as Read shows it, instead of its id. A new cell goes after it."""
    cell_type: Literal["code", "markdown", "raw"] | None = None
    """The kind of cell. Required to insert; otherwise the cell keeps its kind."""
    edit_mode: EditMode = "replace"
    """Insert without cell_id and cell_number puts the new cell at the start."""


class NotebookEditOutput(Record):
    """What changed."""

    notebook_path: str
    edit_mode: EditMode
    cell_id: str
    cell_number: int
    """Where the cell is now, or was."""
    cell_type: str
    language: str
    new_source: str
    old_source: str
    total_cells: int
    diff: str = ""
    original_digest: str = ""
    """The key of the earlier bytes in the undo store."""
    notes: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Edited:
    """A notebook before and after, with what is said about it."""

    before: TextFile
    text: str
    output: NotebookEditOutput


class NotebookEdit(Tool[NotebookEditInput, NotebookEditOutput]):
    """Replace, insert or delete one cell of a Jupyter notebook (.ipynb) that you have read.

    Name the cell by cell_id or by cell_number. The outputs of a code cell that changes are cleared.
    """

    open_world = False
    search_hint = "change jupyter notebook cell ipynb"
    rule_subject = "path"
    rule_parameter = "notebook_path"
    capability = "edit"
    interrupt_behavior = "block"

    def validate_input(self, args: NotebookEditInput, /) -> str | None:
        if args.notebook_path.suffix != SUFFIX:
            return f"{args.notebook_path} is not a notebook. Use Edit for other files."
        if args.cell_id is not None and args.cell_number is not None:
            return "give either cell_id or cell_number, not both."
        if args.edit_mode == "insert":
            return None if args.cell_type else "cell_type is missing. Give it to insert a cell."
        if args.cell_id is None and args.cell_number is None:
            return f"give the cell to {args.edit_mode} as cell_id or cell_number."
        return None

    def facts(self, args: NotebookEditInput, ctx: Context, /) -> Facts:
        path = ctx.resolve(args.notebook_path)
        return Facts(open_world=False, reads=(path,), writes=(path,))

    def call(self, args: NotebookEditInput, ctx: Context, /) -> NotebookEditOutput:
        path = ctx.resolve(args.notebook_path)
        with ctx.files.lock(path):
            edited = _edited(path, args, ctx)
            before = edited.before
            written = ctx.files.write(
                path,
                before.encoded(edited.text),
                expected_digest=before.digest,
                like=before.state_for(edited.text, complete=True),
                approved_paths=ctx.approved_paths,
            )
        edited.output.notes += written.notes
        return edited.output

    def content(self, value: NotebookEditOutput, /) -> str:
        cell = f"cell {value.cell_number}" + (f" (id {value.cell_id})" if value.cell_id else "")
        now = f"It has {counted(value.total_cells, 'cell')} now."
        said = {
            "replace": f"Replaced {cell} of {value.notebook_path}.",
            "insert": f"Inserted {cell}, {value.cell_type}, into {value.notebook_path}. {now}",
            "delete": f"Deleted {cell} from {value.notebook_path}. {now}",
        }[value.edit_mode]
        return "\n".join([said, *(f"({note})" for note in value.notes)])

    def describe(self, args: NotebookEditInput, /) -> str:
        named = f"cell {args.cell_id or args.cell_number}" if args.cell_id or args.cell_number else ""
        if args.edit_mode == "insert":
            where = f"after {named}" if named else "at the start"
            return f"Insert a {args.cell_type} cell {where} of {args.notebook_path}"
        verb = args.edit_mode.capitalize()
        return f"{verb} {named} of {args.notebook_path}"

    def preview(self, args: NotebookEditInput, ctx: Context, /) -> str | None:
        try:
            return _edited(ctx.resolve(args.notebook_path), args, ctx).output.diff
        except ToolError as error:
            return f"This call would fail: {error.message}"

    def render_use(self, args: NotebookEditInput, /) -> object | None:
        return terminal_text(self.describe(args))

    def render_result(self, value: NotebookEditOutput, /) -> object | None:
        try:
            from rich.syntax import Syntax  # Imported late: only a terminal needs rich, and not every host installs it.
        except ImportError:
            return None
        return Syntax(value.diff, "diff", background_color="default") if value.diff else None

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(f"NotebookEdit failed: {message}")


def _edited(path: Path, args: NotebookEditInput, ctx: Context) -> _Edited:
    """The notebook before and after the edit; nothing is written."""
    data = regular_bytes(path, ctx.approved_paths)
    if data is None:
        raise ToolError(f"There is no file {path}. Use Glob to find the right path.", code="not_found")
    known = ctx.files.known(path)
    before = text_file(path, data, known)
    if known is None:
        raise ToolError(f"{path} has not been read in this conversation. Read it first.", code="stale")
    if known.digest != before.digest:
        raise ToolError(f"{path} has changed since it was read. Read it again before changing it.", code="stale")
    refuse_lossy(before)
    return _apply(before, Notebook(before.text, str(path)), args)


def _apply(before: TextFile, notebook: Notebook, args: NotebookEditInput) -> _Edited:
    is_named = args.cell_id is not None or args.cell_number is not None
    at = find_cell(notebook, args.cell_id, args.cell_number) if is_named else -1
    old = notebook.cells[at] if is_named else {}
    if args.edit_mode == "insert":
        at, cell, old_source = at + 1, new_cell(notebook, args.new_source, str(args.cell_type)), ""
        text, total = notebook.inserted(at, cell), len(notebook.cells) + 1
    elif args.edit_mode == "delete":
        cell, old_source = old, source_of(old)
        text, total = notebook.deleted(at), len(notebook.cells) - 1
    else:
        cell = changed_cell(old, args.new_source, args.cell_type or str(old.get("cell_type")))
        old_source = source_of(old)
        text, total = notebook.replaced(at, cell), len(notebook.cells)
    new_source = "" if args.edit_mode == "delete" else args.new_source
    name = f"{before.path} cell {at + 1}"
    output = NotebookEditOutput(
        notebook_path=str(before.path),
        edit_mode=args.edit_mode,
        cell_id=str(cell.get("id") or ""),
        cell_number=at + 1,
        cell_type=str(cell.get("cell_type")),
        language=notebook.language,
        new_source=new_source,
        old_source=old_source,
        total_cells=total,
        diff=patch(old_source, new_source).text(name, DIFF_LINES),
        original_digest=before.digest,
    )
    return _Edited(before, text, output)


@hookimpl
def register_tools() -> list[NotebookEdit]:
    return [NotebookEdit()]
