"""Match one call against the rules: which deny or ask rule matches, and whether allow rules cover all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Context, Facts, Part, ResolvedPath, Tool
from pegboard.permission import with_paths
from pegboard_rules.grammar import Rule
from pegboard_rules.path_index import PathIndex, names_of
from pegboard_rules.patterns import host_of, value_matches
from pegboard_rules.ruleset import PathScope, RuleSet
from pegboard_rules.subjects import EDIT, READ
from pegboard_rules.tool_rules import ToolRules

if TYPE_CHECKING:
    from pegboard import Input

COMPOUND = frozenset("&|;<>()$`\n\\\"'{}#")
"""Characters that make a command more than one simple command, for tools that do not parse it themselves."""

Hit = tuple[Rule, str]
Bases = tuple[tuple[str, int], ...]


class CallView:
    """A call as rules see it: its facts with resolved paths, and the rules that apply to its tool."""

    __slots__ = ("args", "facts", "name", "paths", "rules", "scope", "subject", "tool", "view")

    def __init__(
        self, tool: Tool[Any, Any], facts: Facts, ctx: Context, args: Input | None, rules: RuleSet | None = None
    ) -> None:
        facts = with_paths(facts, ctx)
        self.tool, self.name, self.facts, self.args = tool, tool.name, facts, args
        self.rules = rules = rules or RuleSet.of(ctx.settings)
        self.view: ToolRules = rules.of_tool(tool)
        self.subject = self.view.subject
        self.scope: PathScope = rules.scope(ctx)
        self.paths: tuple[ResolvedPath, ...] = facts.paths
        """Every path that the call touches, once, with the kind of access."""

    def is_inside(self, path: ResolvedPath) -> bool:
        """Whether a path is in a working directory under each of its spellings."""
        return self.scope.inside.contain(path)

    def given(self) -> Mapping[str, Any] | None:
        """The input as the model wrote it, for rules on parameters; None where the host did not pass it."""
        if self.args is None:
            return None
        # Only what the model wrote: a rule on a parameter must not match a default that was never asked for.
        return self.args.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def texts(self) -> tuple[Part, ...] | None:
        """What command and name rules are compared with; None where it is not known."""
        if self.facts.parts:
            return self.facts.parts
        if self.args is None:
            return None
        given = self.given() or {}
        field = self.subject.parameter
        text = given.get(field) if field else next((value for value in given.values() if isinstance(value, str)), None)
        return (Part(text),) if isinstance(text, str) else ()

    def hosts(self) -> tuple[str, ...]:
        """The hosts that the call would reach, as the tool says or as its URL shows."""
        if self.facts.hosts:
            return tuple(host_of(host) for host in self.facts.hosts)
        given = self.given() if self.subject.kind == "host" else None
        url = given.get(self.subject.parameter) if given else None
        return (host_of(url),) if isinstance(url, str) else ()


class Restrictions:
    """The first deny rule and the first ask rule that reach a call, and one that may reach it."""

    __slots__ = ("ask", "deny", "doubt")

    def __init__(self) -> None:
        self.deny: Hit | None = None
        self.ask: Hit | None = None
        self.doubt: Rule | None = None

    def note(self, rule: Rule, matched: str) -> None:
        """Keep the rule if it comes before the one found so far."""
        if rule.kind == "deny":
            # The first rule in settings order, not the first one found: the same call must always name the same rule.
            if self.deny is None or rule.order < self.deny[0].order:
                self.deny = (rule, matched)
        elif self.ask is None or rule.order < self.ask[0].order:
            self.ask = (rule, matched)


def restrictions(call: CallView) -> Restrictions:
    """What deny and ask rules say. One part, one path or one host that is reached is enough."""
    found, view = Restrictions(), call.view
    for rule in (view.deny, view.ask):
        if rule is not None:
            found.note(rule, call.name)
    if call.rules.guards_paths or view.guards_paths:
        for path in call.paths:
            _guard_path(call, path, found)
    if view.guard_texts is not None:
        _guard_texts(call, found)
    if view.params:
        _guard_params(call, found)
    if view.guard_hosts is not None:
        _guard_hosts(call, found)
    return found


def _guard_path(call: CallView, path: ResolvedPath, found: Restrictions) -> None:
    rules = call.rules
    for rule in rules.whole.values():
        if rule.kind != "allow" and concerns(rule, path):
            found.note(rule, path.spellings[-1])
    bases = call.scope.guard_bases
    for spelling in path.spellings:
        for rule in guards_of(spelling, path, rules, call.view, bases):
            found.note(rule, spelling)


def guards_of(spelling: str, path: ResolvedPath, rules: RuleSet, view: ToolRules, bases: Bases) -> list[Rule]:
    """The deny and ask rules that reach what a call does with a path, under one of its spellings."""
    # Only restrictions are folded: on a volume that ignores case, another spelling must not avoid them.
    text = rules.folded(spelling) if rules.volume.folds else spelling
    found = hits_on(text, rules.guard_root, rules.guard_cwd, bases)
    if found:
        found = [rule for rule in found if concerns(rule, path)]
    if view.guards_paths:
        found += hits_on(text, view.guard_root, view.guard_cwd, bases)
    return found


def hits_on(text: str, root: PathIndex, cwd: PathIndex, bases: Bases) -> list[Rule]:
    """Every rule of two indexes, one from the root and one from the working directory, that covers a spelling."""
    names, found = names_of(text), list[Rule]()
    if not root.empty:
        root.find(names, found)
    if not cwd.empty:
        for folder, count in bases:
            # /srv/app must not count as inside /srv/ap.
            if text.startswith(folder) and (len(text) == len(folder) or text[len(folder)] == "/" or folder == "/"):
                cwd.find(names[count:], found)
    return found


def concerns(rule: Rule, path: ResolvedPath) -> bool:
    """Whether a rule on reading or editing speaks of what the call does. A denied read denies writing too."""
    if rule.tool == READ:
        # Writing tells something about content as well (diffs, errors), so a denied read denies all access.
        return path.read or rule.kind == "deny"
    return rule.tool == EDIT and (path.write or path.delete)


def _guard_texts(call: CallView, found: Restrictions) -> None:
    index, parts = call.view.guard_texts, call.texts()
    if index is None:
        return
    if parts is None:
        # Without the input no rule can be ruled out, and doubt asks.
        found.doubt = index.rules[0]
        return
    hits: list[Rule] = []
    for text in _readings(parts, taken_apart=bool(call.facts.parts)):
        index.find(text, hits)
        for rule in hits:
            found.note(rule, text)
        hits.clear()
    if call.view.guard_pipes:
        _guard_pipes(call, parts, found)
    is_command = call.subject.kind == "command"
    # No one has taken this command apart, so a rule may apply to a part of it that the crude cut above missed.
    if is_command and not call.facts.parts and any(not COMPOUND.isdisjoint(part.text) for part in parts):
        found.doubt = index.rules[0]


def _guard_pipes(call: CallView, parts: tuple[Part, ...], found: Restrictions) -> None:
    """Rules on pipelines: each of their commands must be there, in a command that has a pipe.

    Which commands the pipe connects is not asked, nor their order: a rule that restricts may match more than it says.
    """
    whole = (call.given() or {}).get(call.subject.parameter)
    # A backslash can spell a pipe inside another word: bash -c $'a \\x7c b'.
    if isinstance(whole, str) and "|" not in whole and "\\" not in whole:
        return
    texts = list(_readings(parts, taken_apart=bool(call.facts.parts)))
    for rule, pipeline in call.view.guard_pipes:
        if all(any(pattern.matches(text) for text in texts) for pattern in pipeline):
            found.note(rule, whole if isinstance(whole, str) else rule.text)


def _readings(parts: tuple[Part, ...], *, taken_apart: bool) -> Iterator[str]:
    for part in parts:
        yield part.text
        yield from part.also
        # Crude on purpose: cutting too much only makes a rule that restricts match more.
        if not taken_apart and not COMPOUND.isdisjoint(part.text):
            pieces = part.text
            for sign in "&|;()`\n":
                pieces = pieces.replace(sign, "\n")
            yield from (piece.strip() for piece in pieces.split("\n") if piece.strip())


def _guard_params(call: CallView, found: Restrictions) -> None:
    params, given = call.view.params, call.given()
    if given is None:
        # The input is not known, so a rule on any of its parameters may apply: ask.
        for field, info in call.tool.input.model_fields.items():
            for rule in params.get(info.alias or field, ()):
                found.doubt = found.doubt or rule
        return
    for name, value in given.items():
        for rule in params.get(name, ()):
            if rule.param and value_matches(rule.param[1], value):
                found.note(rule, f"{name}={value}")


def _guard_hosts(call: CallView, found: Restrictions) -> None:
    index, hits = call.view.guard_hosts, list[Rule]()
    for host in call.hosts():
        if index is not None:
            index.find(host, hits)
        for rule in hits:
            found.note(rule, host)
        hits.clear()
