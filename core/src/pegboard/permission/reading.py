"""May this file be shown? For tools that meet thousands of files in one call, such as searches."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from typing import Any

from pegboard.context import Context
from pegboard.contract import Tool
from pegboard.permission.compiled import Compiled, View
from pegboard.permission.grammar import Rule
from pegboard.permission.matcher import concerns, hits_on
from pegboard.permission.paths import Resolved, resolve

_KIND, _LINK = 0o170000, 0o120000

Readable = Callable[[str], bool]


def readable(ctx: Context, tool: Tool[Any, Any], root: str | os.PathLike[str]) -> Readable:
    """A function that says of an absolute path whether a permitted search of `root` may show it.

    Deny rules withhold, under each name that the file goes by on the way through links. So do ask rules, unless they
    cover the root as well: then somebody has already answered. A path whose end cannot be found is withheld.
    """
    rules = Compiled.of(ctx.settings)
    if rules.guard_root.empty and rules.guard_cwd.empty:
        return everything
    return _Reader(rules, ctx, rules.view(tool.name, tool.aliases), os.fspath(root)).may_show


def everything(path: str) -> bool:
    """What `readable` gives where no rule speaks of paths, so that a caller may save itself the asking."""
    return True


class _Reader:
    """The rules of one search. A folder is resolved once, however many files of it are found."""

    def __init__(self, rules: Compiled, ctx: Context, view: View, root: str) -> None:
        self._rules, self._view = rules, view
        self._bases = rules.place(ctx).guard_bases
        self._folders: dict[str, Resolved] = {}
        self._answered: frozenset[int] = frozenset()
        self._answered = frozenset(rule.order for rule in self._hits(resolve(root)) if rule.kind == "ask")

    def may_show(self, path: str) -> bool:
        """Whether no rule withholds this file."""
        found = self._resolved(path)
        if not found.sound:
            return False
        answered = self._answered
        return all(rule.kind == "ask" and rule.order in answered for rule in self._hits(found))

    def _resolved(self, path: str) -> Resolved:
        folder, name = posixpath.split(path)
        try:
            if not name or name in (".", "..") or os.lstat(path).st_mode & _KIND == _LINK:
                return resolve(path)
        except (OSError, ValueError):
            return resolve(path)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = resolve(folder)
        return Resolved(tuple(f"{spelling.rstrip('/')}/{name}" for spelling in known.spellings), known.sound)

    def _hits(self, found: Resolved) -> list[Rule]:
        rules, hits = self._rules, list[Rule]()
        found.read = True
        if rules.volume.ntfs:
            found = rules.volume.readings(found)
            found.read = True
        for spelling in found.spellings:
            text = rules.folded(spelling) if rules.volume.folds else spelling
            hits += hits_on(text, rules.guard_root, rules.guard_cwd, self._bases)
        return [rule for rule in hits if concerns(rule, found, self._view)]
