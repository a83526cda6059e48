"""The models that are known: what plugins and the provider say about them, and what settings change about that.

A row is plain data, the same in a plugin and in the setting `models`::

    {"claude-*": {"window": 200000, "supports": {"effort": false}},
     "claude-opus-5-5": {"aliases": ["opus"], "tools": {"swap": {"Edit": "ApplyPatch"}}}}

A name may contain `*`. All rows that fit a model count, field by field: those of settings before those of the provider
before those of plugins; among these the exact name first, then the longest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from pegboard import DefinitionError, Settings, SettingsError
from pegboard_session.model_profile import ModelProfile
from pegboard_session.model_rows import fault_of
from pegboard_session.prices import Price

if TYPE_CHECKING:
    from pegboard_session.boards import ToolBoard

Rows: TypeAlias = Mapping[str, Mapping[str, Any]]
log = logging.getLogger("pegboard")


class ModelTable:
    """Looks models up by name or alias. Tables are given weakest first."""

    def __init__(self, tables: Sequence[Rows]) -> None:
        self._tables = tables
        self._aliases: dict[str, str] = {}
        for table in tables:
            for name, row in table.items():
                self._aliases |= dict.fromkeys(row.get("aliases", ()), name)
        self._replacements = {
            swap for table in tables for row in table.values() for swap in row.get("tools", {}).get("swap", {}).values()
        }
        self._profiles: dict[str, ModelProfile] = {}

    @classmethod
    def of(cls, board: ToolBoard, provider: object) -> ModelTable:
        """The table of a board for a provider. A faulty row of settings is a `SettingsError`, of a plugin no row."""
        registered = [_sound(hook(board.settings) or {}, hook) for hook in board.hooks.register_models]
        own: Rows = getattr(provider, "models", {})
        for name, row in own.items():
            if fault := fault_of(row, name):
                raise DefinitionError(f"The provider {getattr(provider, 'name', '?')}: the model {name}: {fault}")
        return cls([*reversed(registered), own, *rows_of(board.settings)])

    def names(self) -> list[str]:
        """The models that are known by name, and their aliases."""
        rows = (name for table in self._tables for name in table)
        return sorted({name for name in (*rows, *self._aliases) if "*" not in name})

    def resolve(self, name: str) -> str:
        """The model that a name means; a name that is no alias means itself."""
        return self._aliases.get(name, name)

    @property
    def aliases(self) -> Mapping[str, str]:
        """Short names, and the models that they mean."""
        return self._aliases

    def profile(self, name: str) -> ModelProfile:
        """What is known about a model, by its name or an alias."""
        model = self.resolve(name)
        if model not in self._profiles:
            self._profiles[model] = self._merged(model)
        return self._profiles[model]

    def _merged(self, model: str) -> ModelProfile:
        made: dict[str, Any] = {}
        features: dict[str, bool] = {}
        shown: dict[str, bool] = {}
        swaps: dict[str, str] = {}
        words: dict[str, str] = {}
        options: dict[str, Any] = {}
        for row in self._fitting(model):
            made |= {key: row[key] for key in ("window", "maxOutput", "price", "bindsThinking") if key in row}
            features |= row.get("supports", {})
            options |= row.get("options", {})
            tools = row.get("tools", {})
            shown |= dict.fromkeys(tools.get("hide", ()), False) | dict.fromkeys(tools.get("show", ()), True)
            swaps |= tools.get("swap", {})
            words |= tools.get("reword", {})
        shown = dict.fromkeys(self._replacements - set(swaps.values()), False) | shown
        return ModelProfile(
            model,
            made.get("window"),
            made.get("maxOutput"),
            features,
            Price.of(made["price"]) if "price" in made else None,
            made.get("bindsThinking", False),
            frozenset(name for name, is_shown in shown.items() if not is_shown),
            {old: new for old, new in swaps.items() if not shown.get(old, False)},
            words,
            options,
        )

    def _fitting(self, model: str) -> Iterable[Mapping[str, Any]]:
        for table in self._tables:
            names = [name for name in table if name == model or ("*" in name and fnmatchcase(model, name))]
            for name in sorted(names, key=lambda name: (name == model, len(name))):
                yield table[name]


def rows_of(settings: Settings) -> list[Rows]:
    """The tables of the settings `prices` and `models`, weakest first; each layer of `models` is one."""
    tables: list[Rows] = [{name: {"price": price} for name, price in settings.get("prices", {}).items()}]
    for layer in reversed(settings.holders("models")):
        rows: Rows = layer.values["models"]
        for name, row in rows.items():
            if fault := fault_of(row, name):
                raise SettingsError(f"models: {name}: {fault}", source=layer.source_of("models"))
        tables.append(rows)
    return tables


def _sound(rows: Rows, hook: object) -> Rows:
    """The rows of a plugin that can be used; the others are logged."""
    kept: dict[str, Mapping[str, Any]] = {}
    for name, row in rows.items():
        if fault := fault_of(row, name):
            log.warning("register_models of %s: %s: %s", getattr(hook, "__module__", "a plugin"), name, fault)
        else:
            kept[name] = row
    return kept
