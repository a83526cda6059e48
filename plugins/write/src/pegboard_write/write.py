"""Create a file or replace a whole one."""

import difflib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl

PREVIEW_LINES = 200


class WriteInput(Input):
    file_path: Path
    """The file to write. A relative path starts at the working directory; missing folders are made."""
    content: str
    """The whole new content."""


class WriteOutput(BaseModel):
    type: Literal["create", "update", "unchanged"]
    file_path: str
    bytes: int


class Write(Tool[WriteInput, WriteOutput]):
    """Create a file, or replace the whole content of one.

    Missing folders are made. Content that is already there changes nothing.
    """

    open_world = False
    search_hint = "create save overwrite file"
    interrupt_behavior = "block"

    def facts(self, args: WriteInput, ctx: Context, /) -> Facts:
        return Facts(open_world=False, writes=(ctx.resolve(args.file_path),))

    def call(self, args: WriteInput, ctx: Context, /) -> WriteOutput:
        path, data = ctx.resolve(args.file_path), args.content.encode()
        if path.is_dir():
            raise ToolError(f"{path} is a directory. Give the path of a file in it.", code="unsupported")
        before = path.read_bytes() if path.is_file() else None
        if before == data:
            return WriteOutput(type="unchanged", file_path=str(path), bytes=len(data))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolError(f"The folder {path.parent} cannot be made: {error.strerror}.") from None
        ctx.files.write(path, data)
        return WriteOutput(type="create" if before is None else "update", file_path=str(path), bytes=len(data))

    def content(self, value: WriteOutput, /) -> str:
        words = {"create": "Created", "update": "Replaced", "unchanged": "No change in"}[value.type]
        return f"{words} {value.file_path} ({value.bytes} bytes)."

    def describe(self, args: WriteInput, /) -> str:
        return f"Write {len(args.content)} characters to {args.file_path}"

    def preview(self, args: WriteInput, ctx: Context, /) -> str | None:
        path = ctx.resolve(args.file_path)
        before = path.read_text(errors="replace").splitlines() if path.is_file() else []
        lines = list(difflib.unified_diff(before, args.content.splitlines(), str(path), str(path), lineterm=""))
        left = len(lines) - PREVIEW_LINES
        return "\n".join(lines[:PREVIEW_LINES] + ([f"({left} more lines)"] if left > 0 else []))


@hookimpl
def register_tools() -> list[Write]:
    return [Write()]
