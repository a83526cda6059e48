"""What Edit returns. Attributes are snake_case; the JSON uses the documented names."""

from __future__ import annotations

from pydantic import Field

from pegboard_files.records import PatchHunk, Record


class EditOutput(Record):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False
    replacements: int
    match_strategy: str
    """How the text was found; with several edits, the most tolerant level that was needed."""
    structured_patch: list[PatchHunk]
    diff: str
    added: int
    removed: int
    snippet: str
    encoding: str
    newline: str
    created: bool = False
    user_modified: bool = False
    original_digest: str
    """The key of the earlier bytes in the undo store; they are not repeated here because a file may be large."""
    notes: list[str] = Field(default_factory=list)
