"""The rules of one `Settings`, made ready once: sorted by tool, by path and by the beginning of commands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from pegboard.context import Context
from pegboard.permission.grammar import CAPABILITIES, Rule, read_rules
from pegboard.permission.pathindex import PathIndex, both_spellings, names_of, place
from pegboard.permission.paths import Volume
from pegboard.permission.protected import Guard
from pegboard.permission.textindex import HostIndex, TextIndex
from pegboard.plugins.builtin import ALIASES
from pegboard.settings.layers import Settings
from pegboard.settings.rules import name_matches

MOST_PLACES = 64


class View:
    """The rules that can concern one tool."""

    __slots__ = (
        "allow",
        "allow_hosts",
        "allow_texts",
        "ask",
        "deny",
        "guard_hosts",
        "guard_texts",
        "may_edit",
        "may_read",
        "names",
        "params",
    )

    def __init__(self, names: frozenset[str], rules: Iterable[Rule], hosts: list[Rule]) -> None:
        self.names = names
        self.may_read = self.may_edit = False
        """Whether an allow rule can cover a file that the tool reads, or changes."""
        own = [rule for rule in rules if any(name_matches(rule.tool, name) for name in names)]
        whole = [rule for rule in own if rule.specifier is None]
        self.deny, self.ask, self.allow = (
            next((rule for rule in whole if rule.kind == kind), None) for kind in ("deny", "ask", "allow")
        )
        self.params: dict[str, list[Rule]] = {}
        for rule in own:
            if rule.param and rule.is_param_rule:
                self.params.setdefault(rule.param[0], []).append(rule)
        texts = [rule for rule in own if rule.pattern is not None and rule.tool not in CAPABILITIES]
        self.guard_texts = _texts([rule for rule in texts if rule.kind != "allow"])
        self.allow_texts = _texts([rule for rule in texts if rule.kind == "allow"])
        self.guard_hosts = _hosts([r for r in hosts if r.kind != "allow" and (r.tool == "WebFetch" or r.tool in names)])
        self.allow_hosts = _hosts([rule for rule in own if rule.is_host_rule and rule.kind == "allow"])


def _texts(rules: list[Rule]) -> TextIndex | None:
    return TextIndex(rules) if rules else None


def _hosts(rules: list[Rule]) -> HostIndex | None:
    return HostIndex(rules) if rules else None


class Place:
    """What is known about a working directory: where rules start, what lies inside, what is guarded."""

    __slots__ = ("allow_bases", "guard", "guard_bases", "roots")

    def __init__(self, rules: Compiled, cwd: str, roots: tuple[str, ...]) -> None:
        settings = rules.settings
        self.allow_bases = tuple((folder, len(names_of(folder))) for folder in both_spellings(cwd))
        # A deny rule keeps its hold on the folder the session began in, wherever a command has gone since.
        began = both_spellings(settings.cwd)
        guarded = dict.fromkeys(rules.folded(folder) for folder in (*both_spellings(cwd), *began))
        self.guard_bases = tuple((folder, len(names_of(folder))) for folder in guarded)
        extra = (os.path.join(settings.cwd, os.path.expanduser(name)) for name in rules.additional)
        inside = [cwd, *roots, *(os.path.normpath(folder) for folder in extra)]
        if cwd.startswith(f"{settings.cwd}/"):
            inside.append(settings.cwd)
        self.roots = tuple(dict.fromkeys(spelled for folder in inside for spelled in both_spellings(folder)))
        self.guard = Guard(settings, self.roots, rules.home)

    def holds(self, spelling: str) -> bool:
        """Whether a path lies in a working directory."""
        for root in self.roots:
            if spelling == root or (spelling.startswith(root) and (root == "/" or spelling[len(root)] == "/")):
                return True
        return False


class Compiled:
    """All rules of a `Settings`, ready to be asked. `of()` keeps one for each settings object."""

    def __init__(self, settings: Settings, volume: Volume | None = None) -> None:
        self.settings, self.home = settings, os.path.expanduser("~")
        self.volume = volume or Volume.of(settings.cwd)
        self.rules = read_rules(settings)
        self.additional: list[str] = settings.get("permissions.additionalDirectories", [])
        self.guard_root, self.guard_cwd = PathIndex(self.volume), PathIndex(self.volume)
        self.allow_root, self.allow_cwd = PathIndex(Volume()), PathIndex(Volume())
        self.whole: dict[tuple[str, str], Rule] = {}
        self._path_tools: set[str] = set()
        self._by_tool: dict[str, list[Rule]] = {}
        self._globs: list[Rule] = []
        self._hosts: list[Rule] = []
        self._views: dict[str, View] = {}
        self._places: dict[tuple[str, tuple[str, ...]], Place] = {}
        self._last: tuple[object, object, Any] = (None, None, None)
        for rule in self.rules:
            if not rule.wrong:
                self._sort(rule)

    @classmethod
    def of(cls, settings: Settings, volume: Volume | None = None) -> Compiled:
        """The compiled rules of these settings; made on first need, then kept with them."""
        found = settings.__dict__.get("compiled_rules")
        if found is None:
            found = settings.__dict__["compiled_rules"] = cls(settings, volume)
        return found

    def _sort(self, rule: Rule) -> None:
        if rule.kind == "allow" and (rule.is_path_rule or rule.tool in CAPABILITIES):
            self._path_tools.add(rule.tool)
        if "*" in rule.tool or rule.tool.startswith("mcp__"):
            self._globs.append(rule)
        else:
            self._by_tool.setdefault(ALIASES.get(rule.tool, rule.tool), []).append(rule)
        if rule.specifier is None and rule.tool in CAPABILITIES:
            self.whole.setdefault((rule.kind, rule.tool), rule)
        elif rule.is_host_rule:
            self._hosts.append(rule)
        elif rule.is_path_rule:
            self._sort_path(rule)

    def _sort_path(self, rule: Rule) -> None:
        guards = rule.kind != "allow"
        base, names = place(rule, self.settings.cwd, self.home)
        if base is None:
            (self.guard_cwd if guards else self.allow_cwd).add(rule, names, guards=guards)
            return
        for folder in both_spellings(base):
            escaped = [_escape(name) for name in names_of(folder)]
            (self.guard_root if guards else self.allow_root).add(rule, escaped + names, guards=guards)

    def view(self, name: str, aliases: tuple[str, ...] = ()) -> View:
        """The rules for a tool, under all its names."""
        key = name
        found = self._views.get(key)
        if found is None:
            former = (old for old, new in ALIASES.items() if new == name)
            names = frozenset((name, *aliases, *former))
            known = {ALIASES.get(name, name) for name in names}
            rules = [rule for name in known for rule in self._by_tool.get(name, ())]
            rules = sorted(rules + self._globs, key=lambda rule: rule.order)
            found = self._views[key] = View(names, rules, self._hosts)
            own = not self._path_tools.isdisjoint(names - {*CAPABILITIES})
            found.may_read = own or "Read" in self._path_tools
            found.may_edit = own or "Edit" in self._path_tools
        return found

    def place(self, ctx: Context) -> Place:
        """What is known about where a call runs."""
        last = self._last
        if last[0] is ctx.cwd and last[1] is ctx.roots:
            return last[2]  # type: ignore[no-any-return]
        key = (str(ctx.cwd), tuple(map(str, ctx.roots)))
        known = self._places.get(key)
        if known is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            known = self._places[key] = Place(self, os.path.normpath(key[0]), key[1])
        self._last = (ctx.cwd, ctx.roots, known)
        return known

    def folded(self, path: str) -> str:
        """A path as deny rules compare it."""
        if not self.volume.folds:
            return path
        return "/" + "/".join(self.volume.fold(name) for name in names_of(path))


def _escape(name: str) -> str:
    """A folder's own name is no pattern, whatever characters it holds."""
    return "".join(f"\\{character}" if character in "*?[\\" else character for character in name)
