"""The settings that exist: those of the core, and those that installed distributions declare."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from pegboard.records import Declared, SettingRecord

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

    def __init__(self, declared: Declared | None = None) -> None:
        self.records = dict(declared["settings"]) if declared else {}
        if "disable" not in self.records:
            self.records = core_settings() | self.records
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
            from pegboard.wording import did_you_mean

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


def core_settings() -> dict[str, SettingRecord]:
    """The core's own settings, from its own file: they hold even where the index cannot see the core."""
    from pegboard.plugins.declarations import read_core

    return read_core()


def groups_of(names: Iterable[str]) -> set[str]:
    """What stands before each dot: objects in a file whose members are settings."""
    return {name[:at] for name in names if "." in name for at, character in enumerate(name) if character == "."}


def installed_keys(env: Mapping[str, str] | None = None) -> Keys:
    """The settings of the core and of everything that is installed; nothing is imported to find them."""
    from pegboard.plugins.index import declared

    return Keys(declared(env))
