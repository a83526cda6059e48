"""The rules that can concern one tool, read as the tool declares its parentheses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Tool
from pegboard.permission import name_matches
from pegboard_rules.grammar import OF_SERVERS, Rule
from pegboard_rules.path_index import PathIndex
from pegboard_rules.subjects import EDIT, OF_A_SERVER, READ, Subject
from pegboard_rules.text_index import HostIndex, TextIndex
from pegboard_rules.volumes import Volume

if TYPE_CHECKING:
    from pegboard_rules.ruleset import RuleSet


class ToolRules:
    """The rules of one tool. Rules on reading and editing are not among them: they are in the `RuleSet`."""

    __slots__ = (
        *("allow", "allow_cwd", "allow_hosts", "allow_root", "allow_texts", "allows_paths", "ask", "deny", "guard_cwd"),
        *(
            "guard_hosts",
            "guard_pipes",
            "guard_root",
            "guard_texts",
            "guards_paths",
            "may_edit",
            "may_read",
            "names",
            "params",
        ),
        *("subject",),
    )

    def __init__(self, rules: RuleSet, tool: Tool[Any, Any], names: frozenset[str], known: list[Rule]) -> None:
        self.names = names
        self.subject = subject = OF_A_SERVER if tool.name.startswith(OF_SERVERS) else Subject.of(tool)
        matching = [rule for rule in known if any(name_matches(rule.tool, name) for name in names)]
        sound = [rule for rule in matching if not rule.fault_for(subject)]
        own = [rule for rule in sound if not rule.began]
        whole = [rule for rule in own if rule.specifier is None]
        self.deny, self.ask, self.allow = (
            next((rule for rule in whole if rule.kind == kind), None) for kind in ("deny", "ask", "allow")
        )
        self.params: dict[str, list[Rule]] = {}
        for rule in own:
            if rule.param and rule.is_about_parameter(subject):
                self.params.setdefault(rule.param[0], []).append(rule)
        self._sort_texts(own)
        self._sort_hosts(own, rules.hosts)
        self._sort_paths(rules, [rule for rule in sound if rule.tool in names and not rule.is_capability])

    def _sort_texts(self, own: list[Rule]) -> None:
        subject = self.subject
        texts = [rule for rule in own if rule.pattern is not None and not rule.is_capability]
        texts = [rule for rule in texts if subject.takes_texts and not (rule.host and subject.takes_hosts)]
        guarding = [rule for rule in texts if rule.kind != "allow" and subject.kind == "command"]
        self.guard_pipes = [(rule, rule.pipeline) for rule in guarding if rule.pipeline]
        self.guard_texts = _texts([rule for rule in texts if rule.kind != "allow"])
        self.allow_texts = _texts([rule for rule in texts if rule.kind == "allow"])

    def _sort_hosts(self, own: list[Rule], hosts: list[Rule]) -> None:
        """A host that is denied to one tool is denied to all; only a server's tools have hosts of their own."""
        mine = [rule for rule in own if rule.host and self.subject.takes_hosts]
        theirs = [rule for rule in hosts if not rule.is_of_server and rule.tool not in self.names]
        guarding = sorted((rule for rule in (*mine, *theirs) if rule.kind != "allow"), key=lambda rule: rule.order)
        self.guard_hosts = _hosts(guarding)
        self.allow_hosts = _hosts([rule for rule in mine if rule.kind == "allow"])

    def _sort_paths(self, rules: RuleSet, own: list[Rule]) -> None:
        self.guard_root, self.guard_cwd = PathIndex(rules.volume), PathIndex(rules.volume)
        self.allow_root, self.allow_cwd = PathIndex(Volume()), PathIndex(Volume())
        for rule in own:
            guards = rule.kind != "allow"
            if rule.may_be_path and (self.subject.guards_paths if guards else self.subject.takes_paths):
                root, cwd = (self.guard_root, self.guard_cwd) if guards else (self.allow_root, self.allow_cwd)
                rules.add_path(rule, root, cwd)
        self.guards_paths = not (self.guard_root.empty and self.guard_cwd.empty)
        self.allows_paths = not (self.allow_root.empty and self.allow_cwd.empty)
        self.may_read = self.allows_paths or rules.may_cover(READ)
        """Whether an allow rule can cover a file that the tool reads."""
        self.may_edit = self.allows_paths or rules.may_cover(EDIT)


def _texts(rules: list[Rule]) -> TextIndex | None:
    return TextIndex(rules) if rules else None


def _hosts(rules: list[Rule]) -> HostIndex | None:
    return HostIndex(rules) if rules else None
