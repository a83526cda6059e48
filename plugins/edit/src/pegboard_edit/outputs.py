"""What Edit returns. Attributes are snake_case, JSON has the documented names."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Record(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class PatchHunk(Record):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]


class EditOutput(Record):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False
    replacements: int
    match_strategy: str
    """How the text was found; with several edits the most tolerant way that was needed."""
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
    """Names the earlier bytes in the undo store; they are not repeated here because a file may be large."""
    notes: list[str] = []
