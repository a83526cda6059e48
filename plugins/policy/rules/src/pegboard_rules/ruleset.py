"""The compiled rules of one `Settings`: indexed by tool, by path and by command prefix."""

from __future__ import annotations

import os
from typing import Any

from pegboard import Context, Settings, Tool
from pegboard.permission import WorkingDirectories, both_spellings
from pegboard_rules.grammar import Rule, read_rules
from pegboard_rules.path_index import PathIndex, names_of, start_of
from pegboard_rules.protected import ProtectedPaths
from pegboard_rules.subjects import CAPABILITIES
from pegboard_rules.tool_rules import ToolRules
from pegboard_rules.volumes import Volume

MOST_KNOWN = 64
KEY = "permission_rules"


class PathScope:
    """What is known about a working directory: where rules start, and which paths are protected there."""

    __slots__ = ("allow_bases", "guard_bases", "inside", "protected")

    def __init__(self, rules: RuleSet, inside: WorkingDirectories, cwd: str) -> None:
        settings, self.inside = rules.settings, inside
        self.allow_bases = tuple((folder, len(names_of(folder))) for folder in both_spellings(cwd))
        # A deny rule still applies to the folder the session began in, wherever the working directory has moved.
        began = both_spellings(settings.cwd)
        guarded = dict.fromkeys(rules.folded(folder) for folder in (*both_spellings(cwd), *began))
        self.guard_bases = tuple((folder, len(names_of(folder))) for folder in guarded)
        self.protected = ProtectedPaths(settings, inside.roots, rules.home)


class RuleSet:
    """All compiled rules of a `Settings`. `of()` caches one per settings object."""

    def __init__(self, settings: Settings, volume: Volume | None = None) -> None:
        self.settings, self.home = settings, os.path.expanduser("~")
        self.volume = volume or Volume.of(settings.cwd)
        self.rules = read_rules(settings)
        self.guard_root, self.guard_cwd = PathIndex(self.volume), PathIndex(self.volume)
        # Allow rules never fold case: on such a volume they match less than they could, and the person is asked.
        self.allow_root, self.allow_cwd = PathIndex(Volume()), PathIndex(Volume())
        self.whole: dict[tuple[str, str], Rule] = {}
        """Rules that cover all reading or all editing, by kind and capability."""
        self.allowing: set[str] = set()
        """The capabilities that have an allow rule."""
        self.hosts: list[Rule] = []
        self._by_tool: dict[str, list[Rule]] = {}
        self._globs: list[Rule] = []
        self._views: dict[tuple[object, ...], ToolRules] = {}
        self._scopes: dict[WorkingDirectories, PathScope] = {}
        for rule in self.rules:
            if not rule.wrong:
                self._sort(rule)
        self.guards_paths = bool(self.whole) or not (self.guard_root.empty and self.guard_cwd.empty)

    @classmethod
    def of(cls, settings: Settings, volume: Volume | None = None) -> RuleSet:
        """The rules of these settings; made on first use and cached with them."""
        # Kept in the settings object itself, so the rules live exactly as long as the settings they were read from.
        found = settings.__dict__.get(KEY)
        if found is None:
            found = settings.__dict__[KEY] = cls(settings, volume)
        return found

    def _sort(self, rule: Rule) -> None:
        if "*" in rule.tool or rule.is_of_server:
            self._globs.append(rule)
        else:
            self._by_tool.setdefault(rule.tool, []).append(rule)
        if rule.host:
            self.hosts.append(rule)
        if not rule.is_capability:
            return
        if rule.kind == "allow":
            self.allowing.add(rule.tool)
        if rule.specifier is None:
            # The first rule wins, as it does for a reader of the settings file.
            self.whole.setdefault((rule.kind, rule.tool), rule)
        else:
            guards = rule.kind != "allow"
            root, cwd = (self.guard_root, self.guard_cwd) if guards else (self.allow_root, self.allow_cwd)
            self.add_path(rule, root, cwd)

    def add_path(self, rule: Rule, root: PathIndex, cwd: PathIndex) -> None:
        """Add a path rule to the index of the folder that its pattern is relative to."""
        guards = rule.kind != "allow"
        base, names = start_of(rule, self.settings.cwd, self.home)
        if base is None:
            cwd.add(rule, names, guards=guards)
            return
        for folder in both_spellings(base):
            escaped = [_escape(name) for name in names_of(folder)]
            root.add(rule, escaped + names, guards=guards)

    def of_tool(self, tool: Tool[Any, Any]) -> ToolRules:
        """The rules that can concern one tool, under all its names."""
        key = (tool.name, *tool.aliases, tool.rule_subject, tool.rule_parameter, tool.capability)
        found = self._views.get(key)
        if found is None:
            names = frozenset((tool.name, *tool.aliases))
            rules = [rule for name in names for rule in self._by_tool.get(name, ())]
            rules = sorted(rules + self._globs, key=lambda rule: rule.order)
            found = self._views[key] = ToolRules(self, tool, names, rules)
        return found

    def scope(self, ctx: Context) -> PathScope:
        """What is known about where a call runs."""
        inside = WorkingDirectories.of(ctx)
        found = self._scopes.get(inside)
        if found is None:
            # Emptied, not trimmed: a session rarely uses more than a few, and building one again is cheap.
            if len(self._scopes) >= MOST_KNOWN:
                self._scopes.clear()
            found = self._scopes[inside] = PathScope(self, inside, os.path.normpath(ctx.cwd))
        return found

    def folded(self, path: str) -> str:
        """A path as deny rules compare it."""
        if not self.volume.folds:
            return path
        return "/" + "/".join(self.volume.fold(name) for name in names_of(path))

    def may_cover(self, capability: str) -> bool:
        """Whether there is an allow rule for this capability."""
        return capability in CAPABILITIES and capability in self.allowing


def _escape(name: str) -> str:
    """A folder's own name is no pattern, whatever characters it holds."""
    return "".join(f"\\{character}" if character in "*?[\\" else character for character in name)
