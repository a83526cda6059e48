"""The layers, and how they combine. The order, strongest first: baked, managed, cli, env, local, project, user."""

from __future__ import annotations

import os

from pegboard_settings.keys import Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pegboard_settings.errors import SettingsError

ORDER = ("baked", "managed", "cli", "env", "local", "project", "user")
FROM_REPOSITORY = ("local", "project")
"""Layers whose files may have come with a clone or an archive: until the folder is trusted they only restrict."""

OF_THE_OWNER = ("baked", "managed")
"""Layers of whoever built the artefact or owns the machine. What they ask for and cannot be kept stops everything."""

NOTHING = object()


def none_declared(env: Mapping[str, str] | None) -> Keys:
    """No setting at all: this library by itself declares none."""
    return Keys()


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
    """The effective values, each with its origin.

    `get("acme.limit")` is what a tool needs. The other members are for listings, guards and tests.
    """

    find_keys: Callable[[Mapping[str, str] | None], Keys] = staticmethod(none_declared)
    """Which settings there are, where none were handed in. The core puts a function here that knows what is installed.
    It is given the environment variables."""

    def __init__(
        self,
        layers: Iterable[Layer] = (),
        *,
        cwd: str = ".",
        root: str | None = None,
        trusted: bool = False,
        keys: Keys | None = None,
    ) -> None:
        self.layers = sorted(layers, key=lambda layer: ORDER.index(layer.name))
        self.cwd = os.path.abspath(cwd)
        self.root = root or self.cwd
        self.problems: list[SettingsError] = []
        self.notices: list[Notice] = []
        self.withheld: list[Withheld] = []
        """What the project's files say and is not trusted yet."""
        self.trusted = trusted
        self.moved_from: Settings | None = None
        """The settings of the folder that work has moved away from; whoever restricts paths there still does."""
        self.unkept: list[tuple[str, str]] = []
        """Settings that promise protection and that nothing installed declares, each with its source."""
        self.ignored: Mapping[str, list[str]] = {}
        """Keys in files of a compatible host that mean nothing here, by file."""
        self._keys = keys

    @property
    def keys(self) -> Keys:
        """Every setting that was declared."""
        if self._keys is None:
            self._keys = self.find_keys(None)
        return self._keys

    def get(self, key: str, default: Any = NOTHING) -> Any:
        """The effective value, else the declared default, else `default`. Lists and maps combine as declared.

        A key that no installed distribution declares is a `KeyError`, unless there is a `default`: so may a plugin look
        at the settings of another one that is perhaps not installed.
        """
        found = self.keys.get(key) if default is not NOTHING else self.keys[key]
        if found is None:
            return default
        holders = self.holders(key)
        if not holders:
            unset = found.default if found.has_default or default is NOTHING else default
            return unset.copy() if isinstance(unset, list | dict) else unset
        if found.combine == "union":
            return list(dict.fromkeys(item for layer in holders for item in layer.values[key]))
        if found.combine == "merge":
            return {name: item for layer in reversed(holders) for name, item in layer.values[key].items()}
        if found.combine == "concat":
            names = dict.fromkeys(name for layer in holders for name in layer.values[key])
            return {name: [item for layer in holders for item in layer.values[key].get(name, ())] for name in names}
        if found.combine == "intersect":
            return [item for item in holders[0].values[key] if all(item in layer.values[key] for layer in holders)]
        return holders[0].values[key]

    def holders(self, key: str) -> list[Layer]:
        """The layers that set this key, strongest first."""
        return [layer for layer in self.layers if key in layer.values]

    def items(self, key: str) -> list[tuple[str, Layer]]:
        """Each item of a list setting with the layer it comes from."""
        return [(item, layer) for layer in self.holders(key) for item in layer.values[key]]

    def explain(self, *, unset: bool = False) -> list[dict[str, Any]]:
        """A row for each setting that is set, and with `unset` for every other one too.

        A row has the value, its layer (or `default`), every layer that has a say, the distribution and the sentence.
        The value of a setting whose name ends in `.key` is hidden.
        """
        rows = []
        for key in self.keys:
            holders = self.holders(key)
            if holders or unset:
                said = [
                    {"layer": h.name, "source": h.source_of(key), "value": _shown(key, h.values[key])} for h in holders
                ]
                about = self.keys[key]
                row = {
                    "key": key,
                    "value": _shown(key, self.get(key)),
                    "layer": holders[0].name if holders else "default",
                }
                rows.append({**row, "from": said, "distribution": about.owner, "doc": about.doc})
        return rows

    def moved_to(self, folder: str) -> Settings:
        """The same settings for work in another folder, such as a sub-agent's own checkout: paths start there."""
        moved = self.with_layers(self.layers)
        moved.cwd = moved.root = os.path.abspath(folder)
        moved.moved_from = self
        return moved

    def with_layers(self, layers: Iterable[Layer]) -> Settings:
        """The same settings with other layers; what was promised and is not kept stays so."""
        made = Settings(layers, cwd=self.cwd, root=self.root, trusted=self.trusted, keys=self._keys)
        made.problems, made.notices = self.problems.copy(), self.notices.copy()
        made.withheld, made.unkept, made.ignored = self.withheld.copy(), self.unkept.copy(), self.ignored
        return made

    def require_sound(self) -> None:
        """Raise the first problem: what acts must not act on half-read settings."""
        if self.problems:
            raise self.problems[0]


FILTERS = "filters"
"""The source of lists of tools that a program has changed."""


def with_filters(settings: Settings, available: Sequence[str] | None, excluded: Sequence[str]) -> Settings:
    """The settings with these lists of tools in place of those of the command line."""
    keys = ("availableTools", "excludedTools")
    given: dict[str, Any] = {"excludedTools": list(excluded)} if excluded else {}
    if available is not None:
        given["availableTools"] = list(available)
    old = next((layer for layer in settings.layers if layer.name == "cli"), Layer("cli", FILTERS, {}))
    kept = {key: value for key, value in old.values.items() if key not in keys}
    layer = Layer("cli", old.source, {**kept, **given}, {**old.sources, **dict.fromkeys(given, FILTERS)})
    layer.examples = old.examples
    return settings.with_layers([*(other for other in settings.layers if other is not old), layer])


def _shown(key: str, value: Any) -> Any:
    """A value as people and models may see it: not that of a key, unless it only names a variable."""
    is_secret = key.endswith(".key") and isinstance(value, str) and not value.startswith("$")
    return "***" if is_secret else value
