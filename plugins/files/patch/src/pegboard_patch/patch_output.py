"""What ApplyPatch returns. Attributes are snake_case; the JSON uses the documented names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pegboard_files.records import PatchHunk, Record


class PatchedFile(Record):
    type: Literal["add", "delete", "update", "move"]
    file_path: str
    move_to: str = ""
    structured_patch: list[PatchHunk] = Field(default_factory=list)
    diff: str = ""
    added: int = 0
    removed: int = 0
    original_digest: str = ""
    """The key of the earlier bytes in the undo store; empty for a new file."""
    notes: list[str] = Field(default_factory=list)


class ApplyPatchOutput(Record):
    files: list[PatchedFile]
