"""All ignore rules that apply in a folder, strongest first. Folders without ignore files share their parent's chain."""

from __future__ import annotations

from collections.abc import Collection

from pegboard_ignore.gitconfig import info_excludes
from pegboard_ignore.gitignore import IgnoreRules, read_rules

GIT = ".git"
FILES = (".rgignore", ".ignore", ".gitignore")
SPECIAL = frozenset({*FILES, GIT})

Link = tuple[int, IgnoreRules]
"""How much of an absolute path to cut off, and the rules for the rest."""


class Chain:
    """The rules that apply in a folder. The kind of file ranks before depth: any `.ignore` beats every `.gitignore`."""

    __slots__ = ("_kinds", "links")

    def __init__(self, kinds: tuple[tuple[Link, ...], ...] = ((), (), (), (), ())) -> None:
        self._kinds = kinds
        self.links: tuple[Link, ...] = tuple(link for kind in kinds for link in kind)

    @classmethod
    def explicit(cls, base: str, files: Collection[str]) -> Chain:
        """Rules for everything below `base`, from explicitly named files: the weakest of all."""
        found = [read_rules(path) for path in files]
        return cls(((), (), (), (), tuple((_cut(base), rules) for rules in found if rules)))

    def entering(self, folder: str, present: Collection[str]) -> Chain:
        """The chain inside a folder; `present` are its entries, or at least those that are in `SPECIAL`."""
        kinds = list(self._kinds)
        if GIT in present:  # A separate repository: git rules from outside do not apply here.
            kinds[2], kinds[3] = (), ()
            if rules := read_rules(info_excludes(folder)):
                kinds[3] = ((_cut(folder), rules),)
        for kind, name in enumerate(FILES):
            if name in present and (rules := read_rules(f"{folder}/{name}")):
                kinds[kind] = ((_cut(folder), rules), *kinds[kind])
        made = tuple(kinds)
        return self if made == self._kinds else Chain(made)

    def ignores(self, path: str, name: str, is_folder: bool) -> bool:
        """Whether the rules ignore an entry, given by its absolute path and its name."""
        for cut, rules in self.links:
            said = rules.decide(path[cut:], name, is_folder)
            if said is not None:
                return said
        return False


def _cut(folder: str) -> int:
    return len(folder) + (folder != "/")
