"""Permission rules as objects: what each is about, where it is written, and which folder its paths start from."""

from __future__ import annotations

import os

from pegboard import Settings
from pegboard.permission import split_rule
from pegboard.settings import Layer, lines_of
from pegboard_rules.operators import pipes_of
from pegboard_rules.patterns import TextPattern
from pegboard_rules.subjects import CAPABILITIES, OF_A_SERVER, Subject

KINDS = ("deny", "ask", "allow")
OF_SERVERS = "mcp__"


class Rule:
    """One rule of one settings file. `specifier` is None for a rule that covers every call to the tool.

    What the specifier means depends on what the tool declares, so it is asked with the tool's `Subject`.
    """

    __slots__ = (
        *("_line", "anchor", "began", "examples", "host", "kind", "layer", "number", "order", "param", "pattern"),
        *("shown", "source", "specifier", "text", "tool", "wrong"),
    )

    def __init__(self, kind: str, text: str, *, source: str, layer: str, anchor: str, number: int = 0) -> None:
        self.kind, self.text, self.source, self.layer, self.anchor = kind, text, source, layer, anchor
        self.number, self.order, self.shown = number, 0, source
        self.began = ""
        """The working directory that work has moved away from, for a rule that still guards it; only paths count."""
        self.examples: tuple[list[str], list[str]] = ([], [])
        """What the rule must cover and what it must not, as its author wrote next to it."""
        self._line: int | None = -1
        parsed = split_rule(text)
        self.tool, self.specifier = parsed or ("", None)
        self.param = _parameter(self.specifier or "")
        is_host = self.param is not None and self.param[0] == "domain" and self.tool not in CAPABILITIES
        self.host = self.param[1] if self.param and is_host else ""
        """The host pattern of a rule such as `Fetch(domain:example.com)`."""
        self.wrong = ""
        self.wrong = "This is not a rule. Write Tool or Tool(specifier)." if parsed is None else self._fault()
        """Why the rule can never match, whatever the tool declares, as a sentence; empty for a valid one."""
        self.pattern = TextPattern(self.specifier) if self.specifier and not self.is_of_server else None

    def _fault(self) -> str:
        tool, inside = self.tool, self.specifier
        if self.kind == "allow" and "*" in tool and not (inside is None and _after_server(tool)):
            return "An allow rule may contain * only after a complete server name, as in mcp__github__get_*."
        if inside is None:
            return ""
        if not inside:
            return f"The parentheses are empty. Write {tool} to cover every call."
        if tool in CAPABILITIES and inside.startswith("!"):
            return "A path rule cannot be negated with an exclamation mark."
        return self.fault_for(OF_A_SERVER) if self.is_of_server else ""

    def fault_for(self, subject: Subject) -> str:
        """Why the rule can never match a call of a tool with this subject; empty for a valid one."""
        tool, inside = self.tool, self.specifier
        param = None if subject.is_namespaced else self.param
        if inside is None or self.wrong:
            return self.wrong
        if param and subject.kind != "name" and param[0] == subject.parameter:
            return f"Rules for {tool} already match {param[0]}. Write only its value in the parentheses."
        if self.host and subject.takes_hosts:
            return ""
        if subject.kind == "parameter" and not param:
            return "For this tool, the parentheses may contain only a parameter and its value."
        if subject.kind == "host" and not param:
            return f"Write {tool}(domain:example.com)."
        if subject.governed_by and self.kind == "allow":
            return f"Path rules that allow {tool} are never used. Write {subject.governed_by}({inside})."
        fixed = subject.kind in ("name", "host", "parameter")
        if self.kind == "allow" and param and (fixed or (subject.kind == "command" and param[1] != "*")):
            return "Rules on parameters can only deny or ask, not allow."
        if subject.guards_paths and inside.startswith("!"):
            return "A path rule cannot be negated with an exclamation mark."
        return ""

    @property
    def is_of_server(self) -> bool:
        """Whether the rule is about tools of an MCP server."""
        return self.tool.startswith(OF_SERVERS)

    @property
    def is_capability(self) -> bool:
        """Whether the rule is about reading or editing files, by any tool."""
        return self.tool in CAPABILITIES

    @property
    def may_be_path(self) -> bool:
        """Whether the specifier can be read as a path, if the tool takes path rules."""
        return bool(self.specifier) and not self.host and not self.is_of_server

    def is_about_parameter(self, subject: Subject) -> bool:
        """Whether the rule can be about a parameter. `Bash(git:*)` is a command, however much it looks like one."""
        if self.param is None or self.kind == "allow" or subject.is_namespaced:
            return False
        name, value = self.param
        return not (subject.kind == "command" and value == "*") and not (subject.kind == "host" and name == "domain")

    @property
    def pipeline(self) -> tuple[TextPattern, ...]:
        """The commands of a rule such as `Bash(curl * | sh)`; empty for one without a pipe."""
        pieces = pipes_of(self.specifier or "") if self.pattern is not None else []
        return tuple(TextPattern(piece) for piece in pieces) if len(pieces) > 1 and all(pieces) else ()

    @property
    def is_exact(self) -> bool:
        """Whether the rule spells out what it covers, without a wildcard."""
        return self.specifier is None or (self.pattern is not None and self.pattern.exact is not None)

    @property
    def line(self) -> int | None:
        """The line of the rule in its file, looked up on first use."""
        if self._line == -1:
            lines = lines_of(self.source, f"permissions.{self.kind}") if os.path.isabs(self.source) else []
            self._line = lines[self.number] if self.number < len(lines) else None
        return self._line

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text} of {self.source}>"


def _after_server(name: str) -> bool:
    """Whether the first `*` comes after a literal `mcp__server__`."""
    head = name[: name.index("*")]
    return head.startswith(OF_SERVERS) and "__" in head[5:].lstrip("_") and not head[5:].startswith("__")


def _parameter(specifier: str) -> tuple[str, str] | None:
    name, colon, value = specifier.partition(":")
    name, value = name.strip(), value.strip()
    # A hyphen begins the name of a parameter such as -i; inside, it is the name of a skill or an agent of a plugin.
    if not colon or not value or value.startswith("//") or not name.lstrip("-").isidentifier():
        return None
    if len(name) == 1 and value[0] in "\\/":
        return None  # C:\\tools is a path.
    return name, value


def read_rules(settings: Settings) -> list[Rule]:
    """Every rule of every layer, the strongest layer first; then what restricts paths where work has moved from."""
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
    if settings.moved_from is not None:
        for rule in read_rules(settings.moved_from):
            if rule.kind != "allow" and rule.may_be_path:
                rule.began = rule.began or settings.moved_from.cwd
                rule.order = len(rules)
                rules.append(rule)
    return rules


def anchor_of(layer: Layer, key: str, settings: Settings) -> str:
    """The folder that a path with one leading slash is relative to."""
    source = layer.source_of(key)
    if layer.name == "project":
        nested = os.path.join(settings.cwd, ".claude", "settings.json")
        return settings.cwd if source == nested else settings.root
    if layer.name in ("local", "env") or not os.path.isabs(source):
        return settings.cwd
    return os.path.dirname(source)


def short(source: str, settings: Settings) -> str:
    """A settings file as people write it: relative to the project or the home directory."""
    home = os.path.expanduser("~")
    for base, prefix in ((settings.root, ""), (home, "~/")):
        if os.path.isabs(base) and base != "/" and source.startswith(f"{base}/"):
            return prefix + source[len(base) + 1 :]
    return source
