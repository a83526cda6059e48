"""What Write returns. Attributes are snake_case, JSON has the documented names."""

from __future__ import annotations

from typing import Literal

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


class WriteOutput(Record):
    type: Literal["create", "update", "unchanged"]
    file_path: str
    bytes: int
    """The size of the file now."""
    structured_patch: list[PatchHunk] = []
    diff: str = ""
    added: int = 0
    removed: int = 0
    encoding: str = "utf-8"
    newline: str = "\n"
    made_folders: list[str] = []
    original_digest: str = ""
    """Names the earlier bytes in the undo store; empty for a new file."""
    user_modified: bool = False
    notes: list[str] = []
