"""The settings that exist, as they were declared, and what fits them."""

from __future__ import annotations

from pegboard_settings.wording import shown

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from pegboard_settings.records import DeclaredSettings, GuardRecord, SettingRecord

MODES = ("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


class Key:
    """One setting. `combine` says how layers combine; without `repository` an untrusted project cannot set it."""

    __slots__ = (
        *("choices", "combine", "compatible", "default", "doc", "expects", "fields", "guard", "has_default"),
        *("kind", "name", "owner", "plugins", "repository", "reserves", "variable"),
    )

    def __init__(self, name: str, record: SettingRecord) -> None:
        self.name, self.kind, self.doc = name, record["kind"], record["doc"]
        self.combine = record.get("combine", "first")
        self.default: Any = record.get("default")
        self.has_default = "default" in record
        self.expects = record.get("expects", "")
        self.choices, self.fields = record.get("choices", ()), record.get("fields", ())
        self.repository, self.variable = record.get("repository", False), record.get("variable", "")
        self.compatible, self.reserves = record.get("compatible", False), record.get("reserves", "")
        self.guard, self.plugins = record.get("guard", False), record.get("plugins", ())
        self.owner = record.get("owner", "")


class Keys:
    """Every declared setting by name, in the order in which listings show them."""

    guards: Mapping[str, GuardRecord] = {}
    """Settings that promise protection, declared or not: where nothing installed declares one, it is missed."""
    namespaces: Mapping[str, str] = {}
    """Which distribution may declare the settings with this name or in this group, installed or not."""

    def __init__(self, declared: DeclaredSettings | None = None) -> None:
        self.records = dict(declared["settings"]) if declared else {}
        self.not_used: Mapping[str, tuple[str, Any]] = declared["not_used"] if declared else {}
        self.faults: list[tuple[str, str]] = declared["faults"] if declared else []
        self.groups = groups_of(self.records)
        self.variables = {record["variable"]: name for name, record in self.records.items() if "variable" in record}
        self.reserving = {name: record["reserves"] for name, record in self.records.items() if "reserves" in record}

    def get(self, name: str) -> Key | None:
        """The setting with this name, if any installed distribution declares it."""
        record = self.records.get(name)
        return None if record is None else Key(name, record)

    def __getitem__(self, name: str) -> Key:
        if name not in self.records:
            from pegboard_settings.wording import did_you_mean

            hint = did_you_mean(name, self.records)
            raise KeyError(f"No installed distribution declares the setting {name!r}.{hint}")
        return Key(name, self.records[name])

    def __contains__(self, name: object) -> bool:
        return name in self.records

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def owner(self, name: str) -> str:
        """The distribution that declares a setting, or nothing."""
        record = self.records.get(name)
        return record.get("owner", "") if record else ""


def groups_of(names: Iterable[str]) -> set[str]:
    """The prefixes before each dot: objects in a file whose members are settings."""
    return {name[:at] for name in names if "." in name for at, character in enumerate(name) if character == "."}


def misfit(key: Key, value: object) -> str | None:
    """What is wrong with a value, in words, or None."""
    if key.kind in CHECKS:
        return CHECKS[key.kind](key, value)
    fits, wanted = KINDS[key.kind]
    if not fits(value):
        return f"{key.name} must be {key.expects or wanted}, got {shown(value)}."
    if key.combine == "intersect" and not value:
        return f"{key.name} is empty, which would leave nothing. Name at least one, or remove {key.name}."
    return None


def is_number(value: object) -> bool:
    """A finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _above(value: object) -> bool:
    return is_number(value) and value > 0  # type: ignore[operator]


def _all(value: object, fits: Callable[[object], bool]) -> bool:
    """Whether this is an object whose values all fit."""
    return isinstance(value, dict) and all(fits(item) for item in value.values())


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "string": (lambda value: isinstance(value, str) and bool(value), "text"),
    "strings": (
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        "a list of strings",
    ),
    "integer": (_is_whole, "a whole number"),
    "count": (lambda value: _is_whole(value) and value >= 1, "a whole number of 1 or more"),  # type: ignore[operator]
    "number": (is_number, "a number"),
    "amount": (_above, "a number above 0"),
    "seconds": (lambda value: _all(value, _above), "an object with numbers of seconds above 0"),
    "lists": (lambda value: _all(value, lambda item: isinstance(item, list)), "an object with a list for each name"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}
"""The kinds that one look decides, and what they expect."""


def _misfit_choice(key: Key, value: object) -> str | None:
    choices = MODES if key.kind == "mode" else key.choices
    if isinstance(value, str) and value in choices:
        return None
    if len(choices) == 1:
        return f'{key.name} must be "{choices[0]}" or be left out, got {shown(value)}.'
    return f"{key.name} must be one of {', '.join(choices)}, got {shown(value)}."


def _misfit_map(key: Key, value: object) -> str | None:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        return f"{key.name} must be {key.expects or 'an object with string values'}, got {shown(value)}."
    for name, item in value.items():
        if key.choices and item not in key.choices:
            return f"{key.name}: {name} must be one of {', '.join(key.choices)}, got {shown(item)}."
    return None


def _misfit_table(key: Key, value: object) -> str | None:
    if not isinstance(value, dict):
        return f"{key.name} must be an object with {', '.join(key.fields)} for each name, got {shown(value)}."
    for name, row in value.items():
        if not isinstance(row, dict) or set(row) != set(key.fields):
            return f"{key.name}: {name} must have {', '.join(key.fields)} and nothing else, got {shown(row)}."
        for field, number in row.items():
            if not (is_number(number) and number >= 0):
                return f"{key.name}: {field} of {name} must be a number of 0 or more, got {shown(number)}."
    return None


RULE_FIELDS = ("rule", "match", "not_match")


def _misfit_rules(key: Key, value: object) -> str | None:
    name = key.name
    if not isinstance(value, list):
        return f"{name} must be a list of rules, got {shown(value)}."
    for item in value:
        if isinstance(item, str):
            continue
        if not isinstance(item, dict) or not isinstance(item.get("rule"), str):
            return (
                f'{name} must contain rules: text, or objects with "rule", "match" and "not_match", got {shown(item)}.'
            )
        if unknown := [field for field in item if field not in RULE_FIELDS]:
            return f"{name}: a rule has no field {unknown[0]!r}. The fields are {', '.join(RULE_FIELDS)}."
        for field in RULE_FIELDS[1:]:
            examples = item.get(field, [])
            if not isinstance(examples, list) or not all(isinstance(example, str) for example in examples):
                return f"{name}: {field} must be a list of strings, got {shown(examples)}."
    return None


CHECKS = {
    "choice": _misfit_choice,
    "mode": _misfit_choice,
    "map": _misfit_map,
    "table": _misfit_table,
    "rules": _misfit_rules,
}
"""The kinds whose message depends on the value."""
