"""Does a repository take its objects or its own files from elsewhere? Then reading it reads there."""

from __future__ import annotations

import os

FOLDERS = ("", "/info", "/objects", "/objects/info", "/refs", "/refs/heads", "/refs/tags")
ALTERNATES = ("alternates", "http-alternates")


def borrowed(git: str, common: str) -> str:
    """What part of a repository is elsewhere, as a sentence; empty if all of it is in its own folders."""
    for name in ALTERNATES:
        if os.path.lexists(f"{common}/objects/info/{name}"):
            return "The repository borrows objects from another one, so git would show what is there."
    for folder in dict.fromkeys((git, common)):
        for inside in FOLDERS:
            if link := _link_in(f"{folder}{inside}"):
                return f"{link} is a symbolic link, so git would read files elsewhere."
    return ""


def _link_in(folder: str) -> str:
    try:
        with os.scandir(folder) as found:
            for entry in found:
                # An old form of a symbolic reference.
                symbolic = entry.name == "HEAD" and entry.is_symlink() and os.readlink(entry.path).startswith("refs/")
                if entry.is_symlink() and not symbolic:
                    return entry.path
    except OSError:
        return ""
    return ""
