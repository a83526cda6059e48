"""The layers, and how they combine. The order, strongest first: baked, managed, cli, env, local, project, user."""

from __future__ import annotations

import os

from pegboard.settings.keys import KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pegboard.errors import SettingsError

ORDER = ("baked", "managed", "cli", "env", "local", "project", "user")
FROM_REPOSITORY = ("local", "project")
"""Layers whose files may have come with a clone or an archive: until somebody trusts the folder they only restrict."""


class Layer:
    """The values of one source, under dotted names such as `permissions.deny`."""

    __slots__ = ("examples", "name", "source", "sources", "values")

    def __init__(
        self, name: str, source: str, values: dict[str, Any], sources: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.source, self.values = name, source, values
        self.sources = sources or {}
        self.examples: dict[str, list[Any]] = {}  # Rules as they were written, where some carry examples.

    def source_of(self, key: str) -> str:
        """The file or variable that holds this key."""
        return self.sources.get(key, self.source)


class Notice:
    """Something a person should know that stops nothing."""

    __slots__ = ("message", "source")

    def __init__(self, source: str, message: str) -> None:
        self.source, self.message = source, message

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


class Withheld:
    """A setting that waits for the project to be trusted."""

    __slots__ = ("key", "source", "value")

    def __init__(self, key: str, source: str, value: Any) -> None:
        self.key, self.source, self.value = key, source, value


class Settings:
    """The effective values, each with its origin."""

    def __init__(
        self,
        layers: Iterable[Layer] = (),
        *,
        cwd: str = ".",
        root: str | None = None,
        problems: Iterable[SettingsError] = (),
        notices: Iterable[Notice] = (),
        withheld: Iterable[Withheld] = (),
        trusted: bool = False,
    ) -> None:
        self.layers = sorted(layers, key=lambda layer: ORDER.index(layer.name))
        self.cwd = os.path.abspath(cwd)
        self.root = root or self.cwd
        self.problems = list(problems)
        self.notices = list(notices)
        self.withheld = list(withheld)
        """What the project's files say and nobody has trusted yet."""
        self.trusted = trusted

    def get(self, key: str, default: Any = None) -> Any:
        """The effective value of a setting. Lists and maps are combined as `KEYS` says."""
        merge = KEYS[key].merge
        holders = self.holders(key)
        if not holders:
            return default
        if merge == "union":
            return list(dict.fromkeys(item for layer in holders for item in layer.values[key]))
        if merge == "merge":
            return {name: item for layer in reversed(holders) for name, item in layer.values[key].items()}
        if merge == "concat":
            names = dict.fromkeys(name for layer in holders for name in layer.values[key])
            return {name: [item for layer in holders for item in layer.values[key].get(name, ())] for name in names}
        if merge == "intersect":
            return [item for item in holders[0].values[key] if all(item in layer.values[key] for layer in holders)]
        return holders[0].values[key]

    def holders(self, key: str) -> list[Layer]:
        """The layers that set this key, strongest first."""
        return [layer for layer in self.layers if key in layer.values]

    def items(self, key: str) -> list[tuple[str, Layer]]:
        """Each item of a list setting with the layer it comes from."""
        return [(item, layer) for layer in self.holders(key) for item in layer.values[key]]

    def explain(self) -> list[dict[str, Any]]:
        """A row for each setting that somebody set: value, origin, and every layer that has a say."""
        rows = []
        for key in KEYS:
            if holders := self.holders(key):
                said = [{"layer": h.name, "source": h.source_of(key), "value": h.values[key]} for h in holders]
                rows.append({"key": key, "value": self.get(key), "layer": holders[0].name, "from": said})
        return rows

    def require_sound(self) -> None:
        """Raise the first problem: what acts must not act on half-read settings."""
        if self.problems:
            raise self.problems[0]
