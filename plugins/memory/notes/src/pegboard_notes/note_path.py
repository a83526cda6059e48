"""The path of a note as the model writes it: `/memories/build.md`. No path means anything outside the folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import PydanticCustomError

ROOT = "/memories"
DEEPEST = 4
"""How many names a path can have below the root."""

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
PATTERN = rf"^{ROOT}(/{NAME})*/?$"
"""Plain ASCII: letters of other alphabets that look like these would make two notes look like one."""

_NAME = re.compile(NAME)


def canonical_path(given: str) -> str:
    """The one spelling of a path: with the root, without a slash at the end. A `ValueError` says what is wrong."""
    path = given.removesuffix("/")
    if path != ROOT:
        path = path if path.startswith(f"{ROOT}/") else f"{ROOT}/{path}"
    names = path.split("/")[2:]
    if given.startswith("/") and not given.startswith(ROOT):
        raise _wrong(f"the path of a note begins with {ROOT}")
    if len(names) > DEEPEST:
        raise _wrong(f"the path of a note has at most {DEEPEST} names below {ROOT}")
    for name in names:
        if not is_name(name):
            raise _wrong(
                "each name in it has up to 64 letters, digits, dots, dashes and underscores of ASCII, begins with a "
                "letter or a digit, does not end with a dot and has no two dots in a row"
            )
    return path


def is_name(name: str) -> bool:
    """Whether a note or a folder of notes can have this name."""
    return bool(_NAME.fullmatch(name)) and ".." not in name and not name.endswith(".")


def _wrong(words: str) -> PydanticCustomError:
    from pydantic_core import PydanticCustomError  # Not at the top: every session loads this, and few take notes.

    return PydanticCustomError("note_path", "{words}", {"words": words})


def relative(path: str) -> PurePosixPath:
    """A canonical path below the folder of the notes."""
    return PurePosixPath(path.removeprefix(ROOT).lstrip("/"))


def shown(name: str | PurePosixPath) -> str:
    """A path below the folder as the model knows it."""
    return f"{ROOT}/{name}"
