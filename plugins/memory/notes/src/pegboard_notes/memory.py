"""View, create, change, rename and delete the notes of a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pegboard import Allow, Context, Decision, Facts, Input, Tool, ToolError
from pegboard.permission import READS
from pegboard.wording import counted, listed
from pegboard_files.patches import patch
from pegboard_files.records import Record, terminal_text
from pegboard_files.safe_write import digest
from pegboard_files.text_file import regular_bytes
from pegboard_notes.changes import inserted, numbered, replaced
from pegboard_notes.note_path import PATTERN, ROOT, canonical_path
from pegboard_notes.plugin import TOLD, Told
from pegboard_notes.store import Note, NoteStore, missing, store_of

Command = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
NotePath = Annotated[str, AfterValidator(canonical_path), Field(json_schema_extra={"pattern": PATTERN})]

NEEDS: dict[str, tuple[str, ...]] = {
    "view": (),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
TAKES = {**NEEDS, "view": ("path", "view_range")}


class MemoryInput(Input):
    command: Command
    """view: show a note, or list the notes of a folder. The others change notes."""
    path: NotePath | None = None
    """The note, such as /memories/build.md. Only view can do without: then it lists all notes."""
    file_text: str | None = None
    """With create: the whole note. Its first line is its title."""
    view_range: list[int] | None = None
    """With view: the first and the last line to show; -1 as the last means to the end."""
    old_str: str | None = None
    """With str_replace: the text to replace. It must be in the note once."""
    new_str: str | None = None
    """With str_replace: what comes in its place."""
    insert_line: int | None = Field(default=None, ge=0)
    """With insert: the line after which the text goes; 0 is the start."""
    insert_text: str | None = None
    """With insert: the text."""
    old_path: NotePath | None = None
    """With rename: the note."""
    new_path: NotePath | None = None
    """With rename: its new path."""


class MemoryOutput(Record):
    """What was seen or changed."""

    command: Command
    path: str
    new_path: str = ""
    text: str = ""
    """With view: the lines, or the list."""
    diff: str = ""
    original_digest: str = ""
    """The key of the earlier bytes in the undo store."""
    remarks: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A note with its text."""

    place: Path
    text: str
    digest: str


class Memory(Tool[MemoryInput, MemoryOutput]):
    """Keep notes about this project for later sessions, and read those of earlier ones.

    Write down what a later session would otherwise have to find out again: how to build and test, decisions and their
    reasons, what the user prefers. Keep notes short and true: change or delete one that is no longer right. Never note
    passwords or other secrets. The notes are files below /memories; the first line of a note is its title.
    """

    name = "memory"
    open_world = False
    search_hint = "remember notes across sessions knowledge"
    rule_subject = "path"
    interrupt_behavior = "block"

    def validate_input(self, args: MemoryInput, /) -> str | None:
        given = {name for name in args.model_fields_set if getattr(args, name) is not None} - {"command"}
        if lacking := [name for name in NEEDS[args.command] if name not in given]:
            return f"{args.command} needs {listed(lacking)}."
        if strange := sorted(given - set(TAKES[args.command])):
            return f"{args.command} has no use for {listed(strange)}."
        if args.command != "view" and ROOT in (args.path, args.old_path, args.new_path):
            return f"{ROOT} is the folder of the notes. Give the path of a note in it."
        if args.old_str == "":
            return "old_str is empty. Use insert to add text."
        if args.view_range is not None and not _is_range(args.view_range):
            return "view_range must be [first, last] with first from 1, and last not before it or -1."
        return None

    def facts(self, args: MemoryInput, ctx: Context, /) -> Facts:
        store = store_of(ctx)
        named = (args.path or args.old_path or ROOT, args.new_path or ROOT)
        old, new = ((place,) if (place := store and store.place(path)) else () for path in named)
        if args.command == "view":
            return Facts(read_only=True, concurrency_safe=True, open_world=False, reads=old)
        if args.command == "delete":
            return Facts(open_world=False, reads=old, deletes=old)
        if args.command == "rename":
            return Facts(open_world=False, reads=old, writes=new, deletes=old)
        return Facts(open_world=False, reads=old, writes=old)

    def check_permission(self, args: MemoryInput, ctx: Context, /) -> Decision | None:
        # The folder is outside the working directories, and its notes were written to be read.
        return Allow("The notes of this project may be read.", READS) if args.command == "view" else None

    def call(self, args: MemoryInput, ctx: Context, /) -> MemoryOutput:
        store = store_of(ctx)
        if store is None:
            raise ToolError("This host keeps no notes.", code="unsupported")
        store.file(ROOT)
        if args.command == "view":
            return _view(args, store, ctx)
        # One lock for all notes: two sessions must not fill the last place together.
        with ctx.files.lock(store.file(ROOT)):
            value = _change(args, store, ctx)
        told = ctx.services.others.get(TOLD)
        if isinstance(told, Told):
            told.update(ctx)  # The model knows what it has just done.
        return value

    def content(self, value: MemoryOutput, /) -> str:
        said = {
            "view": value.text,
            "create": f"Created the note {value.path}.",
            "str_replace": f"Changed the note {value.path}.",
            "insert": f"Changed the note {value.path}.",
            "delete": f"Deleted the note {value.path}.",
            "rename": f"Renamed the note {value.path} to {value.new_path}.",
        }[value.command]
        return "\n".join([said, *(f"({remark})" for remark in value.remarks)])

    def describe(self, args: MemoryInput, /) -> str:
        words = {"view": "Read", "create": "Create", "delete": "Delete", "rename": "Rename"}
        verb = words.get(args.command, "Change")
        if args.command == "rename":
            return f"Rename the note {args.old_path} to {args.new_path}"
        return f"{verb} the note {args.path}" if args.path else "List the notes of this project"

    def preview(self, args: MemoryInput, ctx: Context, /) -> str | None:
        store = store_of(ctx)
        if store is None or args.command in ("view", "rename"):
            return None
        try:
            return _diff(args, store, ctx)
        except ToolError as error:
            return f"This call would fail: {error.message}"

    def render_use(self, args: MemoryInput, /) -> object | None:
        return terminal_text(self.describe(args))

    def render_result(self, value: MemoryOutput, /) -> object | None:
        if not value.diff:
            return None
        try:
            from rich.syntax import Syntax  # Imported late: only a terminal needs rich, and not every host installs it.
        except ImportError:
            return None
        return Syntax(value.diff, "diff", background_color="default")

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(f"memory failed: {message}")


def _is_range(lines: list[int]) -> bool:
    return len(lines) == 2 and lines[0] >= 1 and (lines[1] >= lines[0] or lines[1] == -1)


def _view(args: MemoryInput, store: NoteStore, ctx: Context) -> MemoryOutput:
    path = args.path or ROOT
    inside = [note for note in store.all() if path == ROOT or note.path.startswith(f"{path}/")]
    if path == ROOT or inside:
        if args.view_range:
            raise ToolError(f"{path} is a folder, so view_range has no use.")
        return MemoryOutput(command="view", path=path, text=_list(path, inside))
    opened = _open(path, store, ctx)
    first, last = args.view_range or (1, -1)
    return MemoryOutput(command="view", path=path, text=numbered(opened.text, first, last, path))


def _list(path: str, notes: list[Note]) -> str:
    if not notes:
        return "There are no notes yet."
    rows = [f"{note} ({counted(note.size, 'byte')})" for note in notes]
    return "\n".join([f"{path} has {counted(len(notes), 'note')}:", *rows])


def _change(args: MemoryInput, store: NoteStore, ctx: Context) -> MemoryOutput:
    path = args.path or args.old_path or ROOT
    value = MemoryOutput(command=args.command, path=path, new_path=args.new_path or "")
    if args.command == "rename":
        return _rename(args, store, ctx, value)
    diff = _diff(args, store, ctx)
    if args.command == "delete":
        opened = _open(path, store, ctx)
        ctx.files.remove(opened.place, expected_digest=opened.digest, approved_paths=ctx.approved_paths)
        store.tidy(path)
        return value.model_copy(update={"diff": diff, "original_digest": opened.digest})
    text, before = _new_text(args, store, ctx)
    if args.command == "create":
        store.make_room(path, ctx.settings)
    written = ctx.files.write(
        store.file(path),
        text.encode(),
        expected_digest=before.digest if before else "",
        approved_paths=ctx.approved_paths,
    )
    earlier = before.digest if before else ""
    return value.model_copy(update={"diff": diff, "original_digest": earlier, "remarks": list(written.notes)})


def _rename(args: MemoryInput, store: NoteStore, ctx: Context, value: MemoryOutput) -> MemoryOutput:
    new = args.new_path or ROOT
    opened = _open(value.path, store, ctx)
    store.make_room(new, ctx.settings, instead_of=value.path)
    ctx.files.move(opened.place, store.file(new), expected_digest=opened.digest, approved_paths=ctx.approved_paths)
    store.tidy(value.path)
    return value.model_copy(update={"original_digest": opened.digest})


def _diff(args: MemoryInput, store: NoteStore, ctx: Context) -> str:
    path = args.path or ROOT
    if args.command == "delete":
        return patch(_open(path, store, ctx).text, "").text(path)
    text, before = _new_text(args, store, ctx)
    return patch(before.text if before else "", text).text(path)


def _new_text(args: MemoryInput, store: NoteStore, ctx: Context) -> tuple[str, _Opened | None]:
    """What the note will be, and what it is."""
    path = args.path or ROOT
    before = None if args.command == "create" else _open(path, store, ctx)
    if before is None:
        text = args.file_text or ""
    elif args.command == "insert":
        text = inserted(before.text, args.insert_line or 0, args.insert_text or "", path)
    else:
        text = replaced(before.text, args.old_str or "", args.new_str or "", path)
    most = ctx.settings.get("notes.mostChars")
    if len(text) > most:
        reason = f"{path} would have {len(text):,} characters; the limit for a note is {most:,}."
        raise ToolError(f"{reason} Keep what matters, or use several notes.", code="too_large")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError("The text has a character that cannot be written as UTF-8.") from None
    return text, before


def _open(path: str, store: NoteStore, ctx: Context) -> _Opened:
    place = store.file(path)
    most = 8 * ctx.settings.get("notes.mostChars")
    if place.is_file() and place.stat().st_size > most:
        reason = f"{path} has {place.stat().st_size:,} bytes, which is too much for a note."
        raise ToolError(f"{reason} Another program must have written it.", code="too_large")
    data = None if place.is_dir() else regular_bytes(place, ctx.approved_paths)
    if data is None:
        raise ToolError(missing(path, {note.path: note for note in store.all()}), code="not_found")
    try:
        return _Opened(place, data.decode(), digest(data))
    except UnicodeDecodeError:
        raise ToolError(f"{path} is not UTF-8 text, so it is not used as a note.", code="unsupported") from None
