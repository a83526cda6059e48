"""Which paths does an input name, and which files do they mean? Every spelling counts, and doubt never allows."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

MOST_LINKS = 40
"""Where the kernel gives up, so do we."""

_KIND, _LINK = 0o170000, 0o120000


class ResolvedPath:
    """One path of a call: each name it goes by on the way through links, and the file in the end.

    `spellings` are absolute and free of `.` and `..`; the last one has no links. When `sound` is false the end could
    not be found (a cycle, an unreadable link, a NUL byte), and nothing may be allowed because of it.
    """

    __slots__ = ("delete", "read", "sound", "spellings", "write")

    def __init__(self, spellings: tuple[str, ...], sound: bool) -> None:
        self.spellings, self.sound = spellings, sound
        self.read = self.write = self.delete = False

    @property
    def change(self) -> bool:
        """Whether the call writes or deletes it."""
        return self.write or self.delete


def resolve_path(text: str) -> ResolvedPath:
    """Follow an absolute path as the kernel would, noting each hop; what does not exist yet is taken as spelled."""
    if "\0" in text:
        return ResolvedPath((posixpath.normpath(text),), False)
    rest = text.split("/")
    rest.reverse()
    path, hops, sound, missing, links = "", [], True, False, 0
    while rest:
        name = rest.pop()
        if not name or name == ".":
            continue
        if name == "..":
            path, missing = path[: path.rfind("/")] if path else "", False
            continue
        here = f"{path}/{name}"
        if missing:
            path = here
            continue
        try:
            is_link = os.lstat(here).st_mode & _KIND == _LINK
        except (FileNotFoundError, NotADirectoryError):
            path, missing = here, True
            continue
        except (OSError, ValueError):
            path, missing, sound = here, True, False
            continue
        if not is_link:
            path = here
            continue
        links += 1
        hops.append(_spelled(here, rest))
        target = _target(here) if links <= MOST_LINKS else None
        if target is None:
            sound = False
            hops += _behind_root_link(here, rest)
            break
        if target.startswith("/"):
            path = ""
        rest.extend(reversed(target.split("/")))
    else:
        hops.append(path or "/")
    return ResolvedPath(tuple(hops), sound)


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _spelled(here: str, rest: list[str]) -> str:
    return posixpath.normpath("/".join((here, *reversed(rest)))) if rest else here


def _behind_root_link(here: str, rest: list[str]) -> list[str]:
    """`/proc/1/root/etc/shadow` means `/etc/shadow` in all likelihood, even where the link cannot be read."""
    unreadable = here.startswith("/proc/") and here.endswith("/root")
    return [posixpath.normpath("/" + "/".join(reversed(rest)))] if unreadable else []


def paths_of(args: Any) -> list[tuple[str, Path]]:
    """Every path in an input, with the name of the field that holds it."""
    model: Any = type(args)
    fields = _path_fields(model)
    return [(alias, path) for name, alias in fields for path in _walk(getattr(args, name))] if fields else []


def _walk(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif hasattr(type(value), "model_fields"):  # A pydantic model; to import pydantic for it takes 60 ms.
        for _, path in paths_of(value):
            yield path
    elif isinstance(value, dict):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _walk(item)


@cache
def _path_fields(model: Any) -> tuple[tuple[str, str], ...]:
    """The fields that can hold a path; the rest are never walked on the way of a call."""
    scalars: tuple[Any, ...] = (str, int, float, bool, bytes, type(None))
    return tuple(
        (name, field.alias or name) for name, field in model.model_fields.items() if field.annotation not in scalars
    )
