"""May this file be shown? For tools that meet thousands of files in one call, such as searches."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from typing import Any

from pegboard import Context, ResolvedPath, Tool, resolve_path
from pegboard_rules.grammar import Rule
from pegboard_rules.match_call import guards_of
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.subjects import READ
from pegboard_rules.tool_rules import ToolRules

_KIND, _LINK = 0o170000, 0o120000


def path_filter(tool: Tool[Any, Any], root: str, ctx: Context) -> Callable[[str], bool] | None:
    """A function that says of an absolute path whether a permitted search of `root` may show it; None for all.

    Deny rules withhold, under each name that the file goes by on the way through links. So do ask rules, unless they
    cover the root as well: then the answer is already known. A path that cannot be resolved is withheld.
    """
    rules = RuleSet.of(ctx.settings)
    if any(rule.kind == "deny" and rule.tool == READ for rule in rules.whole.values()):
        return lambda path: False  # Reading is denied altogether.
    view = rules.of_tool(tool)
    if rules.guard_root.empty and rules.guard_cwd.empty and not view.guards_paths:
        return None
    return _Reader(rules, ctx, view, root).may_show


class _Reader:
    """The rules of one search. A folder is resolved once, however many files of it are found."""

    def __init__(self, rules: RuleSet, ctx: Context, view: ToolRules, root: str) -> None:
        self._rules, self._view = rules, view
        self._bases = rules.scope(ctx).guard_bases
        self._folders: dict[str, ResolvedPath] = {}
        self._answered: frozenset[int] = frozenset()
        self._answered = frozenset(rule.order for rule in self._hits(resolve_path(root)) if rule.kind == "ask")

    def may_show(self, path: str) -> bool:
        """Whether no rule withholds this file."""
        found = self._resolved(path)
        if not found.sound:
            return False
        answered = self._answered
        return all(rule.kind == "ask" and rule.order in answered for rule in self._hits(found))

    def _resolved(self, path: str) -> ResolvedPath:
        folder, name = posixpath.split(path)
        try:
            # Only links need a full resolution; for all other files the folder, resolved once, and the name are enough.
            if not name or name in (".", "..") or os.lstat(path).st_mode & _KIND == _LINK:
                return resolve_path(path)
        except (OSError, ValueError):
            return resolve_path(path)
        # Kept for one search only: a link may be changed before the next one.
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = resolve_path(folder)
        return ResolvedPath(tuple(f"{spelling.rstrip('/')}/{name}" for spelling in known.spellings), known.sound)

    def _hits(self, found: ResolvedPath) -> list[Rule]:
        rules, hits = self._rules, list[Rule]()
        found.read = True
        for spelling in found.spellings:
            hits += guards_of(spelling, found, rules, self._view, self._bases)
        return hits
