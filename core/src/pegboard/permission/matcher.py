"""One call against the rules: which deny or ask rule reaches it, and whether allow rules cover all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pegboard.context import Context
from pegboard.contract import Facts, Part, Tool
from pegboard.inputs import Input
from pegboard.permission.compiled import Compiled, Place, View
from pegboard.permission.grammar import COMMANDS, PRIMARY, Rule
from pegboard.permission.pathindex import PathIndex, names_of
from pegboard.permission.paths import Resolved, resolve
from pegboard.permission.patterns import host_of, value_matches

COMPOUND = frozenset("&|;<>()$`\n\\\"'{}#")
"""Characters that make a command more than one plain command, for tools that do not take it apart themselves."""

Hit = tuple[Rule, str]


class Case:
    """A call, with its paths resolved once, as rules and modes look at it."""

    __slots__ = ("args", "facts", "mode", "name", "paths", "place", "rules", "tool", "view")

    def __init__(
        self, tool: Tool[Any, Any], facts: Facts, ctx: Context, args: Input | None, rules: Compiled, mode: str
    ) -> None:
        self.tool, self.name, self.facts, self.args = tool, tool.name, facts, args
        self.rules, self.mode = rules, mode
        self.view: View = rules.view(tool.name, tool.aliases)
        self.place: Place = rules.place(ctx)
        self.paths: tuple[Resolved, ...] = ()
        """Every path that the call touches, once, with what it does there."""
        if facts.reads or facts.writes or facts.deletes:
            self.paths = self._touched(facts, ctx)

    def _touched(self, facts: Facts, ctx: Context) -> tuple[Resolved, ...]:
        known: dict[str, Resolved] = {}
        for path in facts.reads:
            self._known(path, ctx, known).read = True
        for path in facts.writes:
            self._known(path, ctx, known).write = True
        for path in facts.deletes:
            self._known(path, ctx, known).delete = True
        return tuple(known.values())

    def _known(self, path: Path, ctx: Context, known: dict[str, Resolved]) -> Resolved:
        text = os.fspath(path)
        found = known.get(text)
        if found is None:
            found = resolve(text if text.startswith("/") else os.fspath(ctx.resolve(path)))
            known[text] = found = self.rules.volume.readings(found) if self.rules.volume.ntfs else found
        return found

    def is_inside(self, path: Resolved) -> bool:
        """Whether a path lies in a working directory under each of its spellings."""
        holds = self.place.holds
        if not path.sound:
            return False
        for spelling in path.spellings:  # noqa: SIM110 - a generator costs more than the whole loop
            if not holds(spelling):
                return False
        return True

    def given(self) -> Mapping[str, Any] | None:
        """The input as the model wrote it, for rules on parameters; None where the host did not pass it on."""
        if self.args is None:
            return None
        return self.args.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def texts(self) -> tuple[Part, ...] | None:
        """What command and name rules are compared with; None where it is not known."""
        if self.facts.parts:
            return self.facts.parts
        if self.args is None:
            return None
        given = self.given() or {}
        field = PRIMARY.get(self.name)
        text = given.get(field) if field else next((value for value in given.values() if isinstance(value, str)), None)
        return (Part(text),) if isinstance(text, str) else ()


class Restrictions:
    """The first deny rule and the first ask rule that reach a call, and one that may reach it."""

    __slots__ = ("ask", "deny", "doubt")

    def __init__(self) -> None:
        self.deny: Hit | None = None
        self.ask: Hit | None = None
        self.doubt: Rule | None = None

    def note(self, rule: Rule, matched: str) -> None:
        """Keep the rule if it stands before the one known so far."""
        if rule.kind == "deny":
            if self.deny is None or rule.order < self.deny[0].order:
                self.deny = (rule, matched)
        elif self.ask is None or rule.order < self.ask[0].order:
            self.ask = (rule, matched)


def restrictions(case: Case) -> Restrictions:
    """What deny and ask rules say. One part, one path or one host that is reached is enough."""
    found, view = Restrictions(), case.view
    for rule in (view.deny, view.ask):
        if rule is not None:
            found.note(rule, case.name)
    rules = case.rules
    if not (rules.guard_root.empty and rules.guard_cwd.empty and not rules.whole):
        for path in case.paths:
            _guard_path(case, path, found)
    if view.guard_texts is not None:
        _guard_texts(case, found)
    if view.params:
        _guard_params(case, found)
    if view.guard_hosts is not None:
        _guard_hosts(case, found)
    return found


def _guard_path(case: Case, path: Resolved, found: Restrictions) -> None:
    rules, view = case.rules, case.view
    for rule in rules.whole.values():
        if rule.kind != "allow" and concerns(rule, path, view):
            found.note(rule, path.spellings[-1])
    for spelling in path.spellings:
        text = rules.folded(spelling) if rules.volume.folds else spelling
        for rule in hits_on(text, rules.guard_root, rules.guard_cwd, case.place.guard_bases):
            if concerns(rule, path, view):
                found.note(rule, spelling)


def hits_on(text: str, root: PathIndex, cwd: PathIndex, bases: tuple[tuple[str, int], ...]) -> list[Rule]:
    """Every rule of two indexes, one from the root and one from the working directory, that covers a spelling."""
    names, found = names_of(text), list[Rule]()
    if not root.empty:
        root.find(names, found)
    if not cwd.empty:
        for folder, count in bases:
            if text.startswith(folder) and (len(text) == len(folder) or text[len(folder)] == "/" or folder == "/"):
                cwd.find(names[count:], found)
    return found


def concerns(rule: Rule, path: Resolved, view: View) -> bool:
    """Whether a deny or ask rule speaks of what the call does with a path. A denied read denies writing too."""
    if rule.tool == "Read":
        return path.read or rule.kind == "deny"
    if rule.tool == "Edit":
        return path.write or path.delete
    return rule.tool in view.names


def _guard_texts(case: Case, found: Restrictions) -> None:
    index, parts = case.view.guard_texts, case.texts()
    if index is None:
        return
    if parts is None:
        found.doubt = index.rules[0]
        return
    hits: list[Rule] = []
    for text in _readings(parts, taken_apart=bool(case.facts.parts)):
        index.find(text, hits)
        for rule in hits:
            found.note(rule, text)
        hits.clear()
    if case.name in COMMANDS and not case.facts.parts and any(not COMPOUND.isdisjoint(part.text) for part in parts):
        found.doubt = index.rules[0]


def _readings(parts: tuple[Part, ...], *, taken_apart: bool) -> Iterator[str]:
    for part in parts:
        yield part.text
        yield from part.also
        if not taken_apart and not COMPOUND.isdisjoint(part.text):
            pieces = part.text
            for sign in "&|;()`\n":
                pieces = pieces.replace(sign, "\n")
            yield from (piece.strip() for piece in pieces.split("\n") if piece.strip())


def _guard_params(case: Case, found: Restrictions) -> None:
    params, given = case.view.params, case.given()
    if given is None:
        for field, info in case.tool.input.model_fields.items():
            for rule in params.get(info.alias or field, ()):
                found.doubt = found.doubt or rule
        return
    for name, value in given.items():
        for rule in params.get(name, ()):
            if rule.param and value_matches(rule.param[1], value):
                found.note(rule, f"{name}={value}")


def _guard_hosts(case: Case, found: Restrictions) -> None:
    index, hits = case.view.guard_hosts, list[Rule]()
    for host in hosts_of(case):
        if index is not None:
            index.find(host, hits)
        for rule in hits:
            found.note(rule, host)
        hits.clear()


def hosts_of(case: Case) -> tuple[str, ...]:
    """The hosts that a call would reach, as the tool says or as its URL shows."""
    if case.facts.hosts:
        return tuple(host_of(host) for host in case.facts.hosts)
    given = case.given() if PRIMARY.get(case.name) == "url" else None
    url = given.get("url") if given else None
    return (host_of(url),) if isinstance(url, str) else ()
