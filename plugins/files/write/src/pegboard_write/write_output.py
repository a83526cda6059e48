"""What Write returns. Attributes are snake_case; the JSON uses the documented names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pegboard_files.records import PatchHunk, Record


class WriteOutput(Record):
    type: Literal["create", "update", "unchanged"]
    file_path: str
    bytes: int
    """The size of the file after the write."""
    structured_patch: list[PatchHunk] = Field(default_factory=list)
    diff: str = ""
    added: int = 0
    removed: int = 0
    encoding: str = "utf-8"
    newline: str = "\n"
    made_folders: list[str] = Field(default_factory=list)
    original_digest: str = ""
    """The key of the earlier bytes in the undo store; empty for a new file."""
    user_modified: bool = False
    notes: list[str] = Field(default_factory=list)
