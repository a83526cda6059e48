"""How file systems compare names: one file may have many spellings, and a rule must hold for all of them."""

from __future__ import annotations

import os
import sys
import unicodedata


class Volume:
    """How a file system compares names. On a volume that folds them, one file has many spellings."""

    __slots__ = ("case_insensitive", "folds", "unicode_normalizing")

    def __init__(self, *, case_insensitive: bool = False, unicode_normalizing: bool = False) -> None:
        self.case_insensitive, self.unicode_normalizing = case_insensitive, unicode_normalizing
        self.folds = case_insensitive or unicode_normalizing

    @classmethod
    def of(cls, folder: str) -> Volume:
        """The volume that a folder is on, found by looking the folder up under another case."""
        other = folder.swapcase()
        try:
            same = other != folder and os.path.samefile(folder, other)
        except OSError:
            same = False
        return cls(case_insensitive=same, unicode_normalizing=sys.platform == "darwin")

    def fold(self, name: str) -> str:
        """One canonical spelling for all names that this volume treats as the same."""
        if self.unicode_normalizing and not name.isascii():
            name = unicodedata.normalize("NFC", name)
        return name.casefold() if self.case_insensitive else name


IGNORABLE = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)))
"""Code points that some file systems drop from names, so that `.g<zero width>it` opens `.git`."""


def folded(name: str) -> str:
    """A name without regard to case, Unicode form, trailing dots and invisible characters: to guard, not to open."""
    if name.isascii():
        return name.lower().rstrip(". ") or name
    return unicodedata.normalize("NFKC", name.translate(IGNORABLE)).casefold().rstrip(". ") or name
