"""Change several files by one patch: all of them, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from pegboard import Context, Facts, Input, Tool, ToolError
from pegboard.wording import counted
from pegboard_files.records import terminal_text
from pegboard_patch.parsing import PatchError, parse, parts_of
from pegboard_patch.patch_output import ApplyPatchOutput

WORDS = {"add": "Added", "delete": "Deleted", "update": "Updated", "move": "Moved"}


EXAMPLE = "*** Begin Patch\n*** Add File: notes/today.txt\n+Buy paint.\n*** End Patch"


class ApplyPatchInput(Input):
    input: Annotated[str, Field(examples=[EXAMPLE])]
    """The whole patch, from *** Begin Patch to *** End Patch."""


class ApplyPatch(Tool[ApplyPatchInput, ApplyPatchOutput]):
    """Add, change, move and delete files with one patch. All of it is applied, or nothing.

    The patch has this form:

    *** Begin Patch
    *** Add File: docs/new.md
    +Every line of a new file begins with a plus.
    *** Update File: src/app.py
    *** Move to: src/main.py
    @@ class Shop
    @@     def total(self):
     a line that stays, for context
    -a line that goes
    +a line that comes
    *** Delete File: old.txt
    *** End Patch

    Paths start at the working directory. "Move to" is optional. Give about three lines of context above and below each
    change, exactly as they are in the file; where that is not unique, put @@ and a line that the change comes after
    before it. Put all changes of one file in one part, from top to bottom. "*** End of File" after a change means that
    it is at the end of the file. A file that you delete or only move must have been read before.
    """

    open_world = False
    aliases = ("apply_patch",)
    search_hint = "patch change several files add delete move"
    rule_subject = "path"
    capability = "edit"
    interrupt_behavior = "block"

    def validate_input(self, args: ApplyPatchInput, /) -> str | None:
        try:
            parse(args.input)
        except PatchError as error:
            return f"{error}"
        return None

    def facts(self, args: ApplyPatchInput, ctx: Context, /) -> Facts:
        reads, writes, deletes = list[Path](), list[Path](), list[Path]()
        for part in parts_of(args.input):
            path = ctx.resolve(Path(part.path))
            if part.kind != "add":
                reads.append(path)
            if part.move_to:
                writes.append(ctx.resolve(Path(part.move_to)))
            (deletes if part.kind == "delete" or part.move_to else writes).append(path)
        return Facts(open_world=False, reads=tuple(reads), writes=tuple(writes), deletes=tuple(deletes))

    def call(self, args: ApplyPatchInput, ctx: Context, /) -> ApplyPatchOutput:
        from pegboard_patch.apply import apply  # Only a call needs it, and what it imports of the file service.
        from pegboard_patch.plan import plan

        most = ctx.settings.get("patch.maxBytes")
        if len(args.input) > most:
            raise ToolError(f"The patch is longer than {most:,} bytes. Apply it in parts.", code="too_large")
        steps = plan(args.input, ctx)
        said = apply(steps, ctx)
        return ApplyPatchOutput(files=[step.outcome(notes) for step, notes in zip(steps, said, strict=True)])

    def content(self, value: ApplyPatchOutput, /) -> str:
        lines = list[str]()
        for file in value.files:
            moved = f" to {file.move_to}" if file.move_to else ""
            counts = f" (+{file.added} -{file.removed} lines)" if file.type != "delete" else ""
            lines.append(f"{WORDS[file.type]} {file.file_path}{moved}{counts}.")
            lines += [f"({note})" for note in file.notes]
        return "\n".join(lines)

    def describe(self, args: ApplyPatchInput, /) -> str:
        verbs = {"add": "add", "delete": "delete", "update": "change"}
        try:
            parts = parse(args.input)
        except PatchError as error:
            return f"Apply a patch that cannot be read: {error}"
        moves = [f" and move it to {part.move_to}" if part.move_to else "" for part in parts[:5]]
        named = [f"{verbs[part.kind]} {part.path}{move}" for part, move in zip(parts, moves, strict=False)]
        more = f" and {counted(len(parts) - 5, 'more file')}" if len(parts) > 5 else ""
        return f"Apply a patch: {', '.join(named)}{more}"

    def preview(self, args: ApplyPatchInput, ctx: Context, /) -> str | None:
        from pegboard_patch.plan import plan  # Late for the same reason as in `call`.

        try:
            steps = plan(args.input, ctx)
        except ToolError as error:
            return f"This call would fail: {error.message}"
        return "\n".join(diff for step in steps if (diff := step.outcome([]).diff))

    def render_use(self, args: ApplyPatchInput, /) -> object | None:
        return terminal_text(self.describe(args))

    def render_result(self, value: ApplyPatchOutput, /) -> object | None:
        try:
            from rich.syntax import Syntax  # Imported late: only a terminal needs rich, and not every host installs it.
        except ImportError:
            return None
        return Syntax("\n".join(file.diff for file in value.files if file.diff), "diff", background_color="default")

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(f"ApplyPatch failed: {message}")
