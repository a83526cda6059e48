"""Which file does a path mean? Every spelling on the way through links counts, and doubt never allows."""

from __future__ import annotations

import os
import posixpath
import sys
import unicodedata

MOST_LINKS = 40
"""Where the kernel gives up, so do we."""

_KIND, _LINK = 0o170000, 0o120000


class Resolved:
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


def resolve(text: str) -> Resolved:
    """Follow an absolute path as the kernel would, noting each hop; what does not exist yet is taken as spelled."""
    if "\0" in text:
        return Resolved((posixpath.normpath(text),), False)
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
    return Resolved(tuple(hops), sound)


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


class Volume:
    """How a file system compares names. On a volume that folds them, one file has many spellings."""

    __slots__ = ("case_insensitive", "folds", "ntfs", "unicode_normalizing")

    def __init__(
        self, *, case_insensitive: bool = False, unicode_normalizing: bool = False, ntfs: bool = False
    ) -> None:
        self.case_insensitive, self.unicode_normalizing, self.ntfs = case_insensitive, unicode_normalizing, ntfs
        self.folds = case_insensitive or unicode_normalizing or ntfs

    @classmethod
    def of(cls, folder: str) -> Volume:
        """The volume that a folder lies on, found by looking the folder up under another case."""
        other = folder.swapcase()
        try:
            same = other != folder and os.path.samefile(folder, other)
        except OSError:
            same = False
        return cls(case_insensitive=same, unicode_normalizing=sys.platform == "darwin", ntfs=sys.platform == "win32")

    def fold(self, name: str) -> str:
        """The one spelling that stands for all that this volume takes for the same name."""
        if self.ntfs:
            name = name.partition(":")[0].rstrip(". ") or name
        if self.unicode_normalizing and not name.isascii():
            name = unicodedata.normalize("NFC", name)
        return name.casefold() if self.case_insensitive else name

    def readings(self, path: Resolved) -> Resolved:
        """The path as Windows would read it, where this volume is one of its own."""
        if not self.ntfs or not any("\\" in text for text in path.spellings):
            return path
        opaque = any("\\??\\" in text or "\\\\" in text for text in path.spellings)
        read = (_from_windows(text) for text in path.spellings)
        return Resolved(tuple(dict.fromkeys((*path.spellings, *read))), path.sound and not opaque)


def _from_windows(text: str) -> str:
    names = text.replace("\\", "/").split("/")
    for at in range(len(names) - 1, -1, -1):
        if len(names[at]) == 2 and names[at][1] == ":" and names[at][0].isalpha():
            names = ["", names[at][0].lower(), *names[at + 1 :]]
            break
    return posixpath.normpath("/".join(names))


IGNORABLE = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)))
"""Code points that some file systems drop from names, so that `.g<zero width>it` opens `.git`."""


def folded(name: str) -> str:
    """A name without regard to case, Unicode form, trailing dots and invisible characters: to guard, not to open."""
    if name.isascii():
        return name.lower().rstrip(". ") or name
    return unicodedata.normalize("NFKC", name.translate(IGNORABLE)).casefold().rstrip(". ") or name
