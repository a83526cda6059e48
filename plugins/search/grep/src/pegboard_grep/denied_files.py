"""Find the files that a search must not open, before it starts: their content must not affect the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from pegboard import ToolError

Readable = Callable[[str], bool]
MOST_BYTES = 500_000
"""The total length of the paths: they are arguments of a program."""


def everything(path: str) -> bool:
    """The filter where nothing is withheld, so that a caller can skip the check."""
    return True


def left_out(listed: Iterable[bytes], path: Callable[[bytes], str], may_show: Readable) -> tuple[str, ...]:
    """The withheld files among those listed; a folder that contains only such files replaces them."""
    shown_folders, withheld = {""}, list[str]()
    for name in listed:
        inner = os.fsdecode(name.removeprefix(b"./"))
        if may_show(path(name)):
            folder = os.path.dirname(inner)
            while folder not in shown_folders:
                shown_folders.add(folder)
                folder = os.path.dirname(folder)
        else:
            withheld.append(inner)
    found = tuple(dict.fromkeys(_topmost(inner, shown_folders) for inner in withheld))
    if sum(map(len, found)) > MOST_BYTES:
        raise ToolError(
            f"Permission rules withhold too many files here: {len(found)} paths would have to be excluded. "
            "Search a smaller folder with path.",
            code="unsupported",
        )
    return found


def _topmost(inner: str, shown_folders: set[str]) -> str:
    while (folder := os.path.dirname(inner)) not in shown_folders:
        inner = folder
    return inner
