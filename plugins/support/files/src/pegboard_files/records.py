"""What the file tools return and show alike. Attributes are snake_case, JSON has the documented names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_files.patches import Hunk


class Record(BaseModel):
    """The value of a file tool. Of all the kinds of values, a call builds those that it returns."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, defer_build=True)


class PatchHunk(Record):
    """A stretch of changed lines; each line begins with a space, `-` or `+`."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]


def structured_patch(hunks: Sequence[Hunk]) -> list[PatchHunk]:
    """The hunks of a patch for programs."""
    return [
        PatchHunk(
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
            lines=list(hunk.lines),
        )
        for hunk in hunks
    ]


def terminal_text(words: str, label: str = "") -> object | None:
    """Words for a terminal, after a bold label; None where `rich` is not installed."""
    try:
        from rich.text import Text  # Only a terminal needs it, and not every host has it.
    except ImportError:
        return None
    return Text.assemble((label, "bold"), words) if label else Text(words)
