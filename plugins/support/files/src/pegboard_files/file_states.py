"""What a conversation has seen of a file, put together from what each look has shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pegboard_files.interface import FileState


def add_up(before: FileState | None, state: FileState) -> FileState:
    """Parts of the same content add up; a later part never takes away what was seen before."""
    if before is None or not state.digest or before.digest != state.digest or state.complete:
        return state
    if before.complete:
        return replace(state, complete=True, ranges=())
    ranges = merged((*before.ranges, *state.ranges))
    whole = state.total_lines is not None and ranges == ((1, state.total_lines),)
    return replace(state, complete=whole, ranges=() if whole else ranges)


def merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges of lines put together, in order."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return tuple(made)
