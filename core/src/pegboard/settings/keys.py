"""Every setting that exists: its shape, how layers combine, and whether a repository may set it."""

from __future__ import annotations

from pegboard.wording import shown


class Key:
    """One setting. `merge` says how layers combine; `needs_trust` keeps a cloned repository from loosening anything."""

    __slots__ = ("doc", "kind", "merge", "needs_trust", "variable")

    def __init__(self, kind: str, merge: str, doc: str, *, needs_trust: bool = False, variable: str = "") -> None:
        self.kind, self.merge, self.doc = kind, merge, doc
        self.needs_trust, self.variable = needs_trust, variable


KEYS = {
    "disable": Key(
        "strings",
        "union",
        "Families, plugins, distributions or tools to switch off. Every layer adds to the list.",
        variable="PEGBOARD_DISABLE",
    ),
    "only": Key(
        "strings",
        "intersect",
        "The only families, plugins, distributions or built-in tools that may be used. Every layer narrows the choice.",
        variable="PEGBOARD_ONLY",
    ),
    "availableTools": Key("strings", "first", "Show the model only these tools."),
    "excludedTools": Key("strings", "union", "Hide these tools from the model; ignored where availableTools is set."),
    "prefer": Key(
        "map",
        "merge",
        'Who owns a contested name: {"Read": "acme-files"} gives the tool Read to the distribution acme-files.',
        needs_trust=True,
    ),
    "strict": Key("bool", "first", "Stop at the first plugin that fails to load.", variable="PEGBOARD_STRICT"),
    "safeMode": Key(
        "bool",
        "first",
        "Load no third-party tool plugins, to find out whether one of them is the trouble.",
        variable="PEGBOARD_SAFE_MODE",
    ),
    "permissions.deny": Key(
        "strings", "union", "Rules for calls that must not run. A bare tool name also hides the tool."
    ),
    "permissions.ask": Key("strings", "union", "Rules for calls that a person has to approve."),
    "permissions.allow": Key("strings", "union", "Rules for calls that run without asking.", needs_trust=True),
}
"""The table that `pegboard settings`, the reference and the check of unknown keys share."""

GROUPS = {name.split(".")[0] for name in KEYS if "." in name}
VARIABLES = {key.variable: name for name, key in KEYS.items() if key.variable}


def misfit(name: str, value: object) -> str | None:
    """What is wrong with a value, in words, or None."""
    kind = KEYS[name].kind
    if kind == "bool" and not isinstance(value, bool):
        return f"{name} must be true or false, got {shown(value)}."
    if kind == "strings":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return f"{name} must be a list of strings, got {shown(value)}."
        if KEYS[name].merge == "intersect" and not value:
            return f"{name} is empty, so nothing would be left. Name at least one family, or remove {name}."
    if kind == "map" and not (isinstance(value, dict) and all(isinstance(item, str) for item in value.values())):
        return f"{name} must be an object with string values, got {shown(value)}."
    return None
