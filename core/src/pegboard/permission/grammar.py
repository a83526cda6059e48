"""Permission rules as objects: what each is about, where it stands, and from which folder its paths are counted."""

from __future__ import annotations

import os

from pegboard.permission.patterns import TextPattern
from pegboard.settings.layers import Layer, Settings
from pegboard.settings.positions import lines_of
from pegboard.settings.rules import split_rule

KINDS = ("deny", "ask", "allow")
PRIMARY = {
    "Bash": "command",
    "PowerShell": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "Grep": "path",
    "Glob": "path",
    "NotebookEdit": "notebook_path",
    "WebFetch": "url",
    "Agent": "subagent_type",
    "Task": "subagent_type",
    "Skill": "skill",
}
"""What the parentheses speak of, tool by tool; a rule may not name these as a parameter."""

CAPABILITIES = ("Read", "Edit")
WITHOUT_PATH_RULES = {"Write": "Edit", "NotebookEdit": "Edit", "MultiEdit": "Edit", "Glob": "Read"}
"""Tools whose own path rules are never consulted, and whose rules govern them instead."""

COMMANDS = frozenset({"Bash", "PowerShell"})
NAMED = frozenset({"Agent", "Task", "Skill"})
WITHOUT = COMMANDS | NAMED | WITHOUT_PATH_RULES.keys() | {"WebFetch"}
"""Tools for which the parentheses never hold a path."""

WITHOUT_HOSTS = COMMANDS | NAMED | {*CAPABILITIES}


class Rule:
    """One rule of one settings file. `specifier` is None for a rule that covers every call of the tool."""

    __slots__ = (
        *("_line", "anchor", "examples", "kind", "layer", "number", "order", "param", "pattern", "shown", "source"),
        *("specifier", "text", "tool", "wrong"),
    )

    def __init__(self, kind: str, text: str, *, source: str, layer: str, anchor: str, number: int = 0) -> None:
        self.kind, self.text, self.source, self.layer, self.anchor = kind, text, source, layer, anchor
        self.number, self.order, self.shown = number, 0, source
        self.examples: tuple[list[str], list[str]] = ([], [])
        """What the rule must cover and what it must not, as its author wrote beside it."""
        self._line: int | None = -1
        parsed = split_rule(text)
        self.tool, self.specifier = parsed or ("", None)
        self.param = _parameter(self.specifier or "")
        self.wrong = "It is not a rule. Write Tool or Tool(specifier)." if parsed is None else self._fault()
        """Why the rule can never match, as a sentence; empty for a sound one."""
        has_text = self.specifier and not self.is_host_rule and not self.tool.startswith("mcp__")
        self.pattern = TextPattern(self.specifier or "") if has_text else None

    def _fault(self) -> str:
        tool, inside = self.tool, self.specifier
        if self.kind == "allow" and "*" in tool and not (inside is None and _after_server(tool)):
            return "An allow rule may hold * only after a whole server name, as in mcp__github__get_*."
        if inside is None:
            return ""
        if not inside:
            return f"Nothing stands in the parentheses. Write {tool} to cover every call."
        if self.param and tool not in NAMED and self.param[0] == PRIMARY.get(tool):
            return f"{self.param[0]} is what rules for {tool} are about. Write its value alone in the parentheses."
        return self._misplaced(inside)

    def _misplaced(self, inside: str) -> str:
        """What is wrong with a specifier for this tool and this kind of rule."""
        tool, param = self.tool, self.param
        if self.is_host_rule:
            return ""
        if tool.startswith("mcp__") and not param:
            return "For a tool of a server, only a parameter and its value mean something in parentheses."
        if tool == "WebFetch" and not param:
            return "Write WebFetch(domain:example.com)."
        if tool in WITHOUT_PATH_RULES and (not param or self.kind == "allow"):
            return f"Path rules for {tool} are never used. Write {WITHOUT_PATH_RULES[tool]}({inside})."
        fixed = tool in NAMED or tool.startswith("mcp__") or tool == "WebFetch"
        if self.kind == "allow" and param and (fixed or (tool in COMMANDS and param[1] != "*")):
            return "Parameters can be denied or asked about, not allowed."
        if self.is_path_rule and inside.startswith("!"):
            return "A path rule cannot be turned round with an exclamation mark."
        return ""

    @property
    def is_host_rule(self) -> bool:
        """Whether the rule speaks of host names."""
        return self.param is not None and self.param[0] == "domain" and self.tool not in WITHOUT_HOSTS

    @property
    def is_param_rule(self) -> bool:
        """Whether the rule can speak of a parameter. `Bash(git:*)` is a command, however much it looks like one."""
        if self.param is None or self.kind == "allow":
            return False
        name, value = self.param
        return not (self.tool in COMMANDS and value == "*") and not (self.tool == "WebFetch" and name == "domain")

    @property
    def is_path_rule(self) -> bool:
        """Whether the specifier may be read as a path."""
        return (
            bool(self.specifier)
            and not self.is_host_rule
            and not self.tool.startswith("mcp__")
            and (self.tool not in WITHOUT)
        )

    @property
    def is_exact(self) -> bool:
        """Whether the rule spells out what it covers, without a wildcard."""
        return self.specifier is None or (self.pattern is not None and self.pattern.exact is not None)

    @property
    def line(self) -> int | None:
        """The line of the rule in its file, looked up when somebody wants to know."""
        if self._line == -1:
            lines = lines_of(self.source, f"permissions.{self.kind}") if os.path.isabs(self.source) else []
            self._line = lines[self.number] if self.number < len(lines) else None
        return self._line

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text} of {self.source}>"


def _after_server(name: str) -> bool:
    """Whether the first `*` comes after a literal `mcp__server__`."""
    head = name[: name.index("*")]
    return head.startswith("mcp__") and "__" in head[5:].lstrip("_") and not head[5:].startswith("__")


def _parameter(specifier: str) -> tuple[str, str] | None:
    name, colon, value = specifier.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not value or value.startswith("//") or not name.replace("-", "_").isidentifier():
        return None
    return name, value


def read_rules(settings: Settings) -> list[Rule]:
    """Every rule of every layer, the strongest layer first."""
    rules: list[Rule] = []
    for kind in KINDS:
        key = f"permissions.{kind}"
        for layer in settings.holders(key):
            source, anchor = layer.source_of(key), anchor_of(layer, key, settings)
            shown, written = short(source, settings), layer.examples.get(key, [])
            for number, text in enumerate(layer.values[key]):
                rule = Rule(kind, text, source=source, layer=layer.name, anchor=anchor, number=number)
                rule.order, rule.shown = len(rules), shown
                if number < len(written) and isinstance(written[number], dict):
                    rule.examples = (written[number].get("match", []), written[number].get("not_match", []))
                rules.append(rule)
    return rules


def anchor_of(layer: Layer, key: str, settings: Settings) -> str:
    """The folder that a path with one leading slash starts from."""
    if layer.name == "project":
        return settings.root
    source = layer.source_of(key)
    if layer.name in ("local", "env") or not os.path.isabs(source):
        return settings.cwd
    return os.path.dirname(source)


def short(source: str, settings: Settings) -> str:
    """A settings file as people write it: from the project, or from the home directory."""
    home = os.path.expanduser("~")
    for base, prefix in ((settings.root, ""), (home, "~/")):
        if os.path.isabs(base) and base != "/" and source.startswith(f"{base}/"):
            return prefix + source[len(base) + 1 :]
    return source
