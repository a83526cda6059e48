"""Read the layers and combine them. The order, strongest first: baked, managed, cli, env, local, project, user."""

from __future__ import annotations

import os

from pegboard.errors import SettingsError
from pegboard.nearest import did_you_mean
from pegboard.settings import places
from pegboard.settings.keys import GROUPS, KEYS, VARIABLES, misfit
from pegboard.settings.rules import rule_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

ORDER = ("baked", "managed", "cli", "env", "local", "project", "user")
FROM_REPOSITORY = ("local", "project")


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
    ) -> None:
        self.layers = sorted(layers, key=lambda layer: ORDER.index(layer.name))
        self.cwd = os.path.abspath(cwd)
        self.root = root or self.cwd
        self.problems = list(problems)
        self.notices = list(notices)

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


def load(
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    cli: Mapping[str, Any] | None = None,
    *,
    settings_file: str | None = None,
    trusted: bool = False,
    managed: str = places.MANAGED,
) -> Settings:
    """Read every layer. Broken files become `problems` and unknown keys `notices`; nothing is skipped in silence."""
    env = os.environ if env is None else env
    cwd = os.path.abspath(cwd or working_directory())
    root = places.project_root(cwd, env)
    reader = _Reader(trusted)
    reader.file("baked", places.baked_file())
    for path in places.managed_files(managed):
        reader.file("managed", path)
    if cli:
        reader.take("cli", "the command line", dict(cli))
    if settings_file:
        reader.file("cli", os.path.abspath(settings_file), required=True)
    reader.environment(env)
    reader.file("local", os.path.join(root, places.FOLDER, "settings.local.json"))
    reader.file("project", os.path.join(root, places.FOLDER, "settings.json"))
    if at_home := places.home(env):
        reader.file("user", os.path.join(at_home, places.FOLDER, "settings.json"))
    return Settings(reader.layers, cwd=cwd, root=root, problems=reader.problems, notices=reader.notices)


def working_directory() -> str:
    """The folder this process stands in; a deleted one is named, not crashed on."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise SettingsError("The working directory was deleted. Change to another.", source="cwd") from None


class _Reader:
    """Collects layers, and what is wrong with them."""

    def __init__(self, trusted: bool) -> None:
        self.trusted = trusted
        self.layers: list[Layer] = []
        self.problems: list[SettingsError] = []
        self.notices: list[Notice] = []

    def file(self, layer: str, path: str, *, required: bool = False) -> None:
        try:
            with open(path, "rb") as stream:
                raw = stream.read()
        except (FileNotFoundError, NotADirectoryError):
            if required:
                self.problems.append(SettingsError("There is no such settings file.", source=path))
            return
        except OSError as error:
            self.broken(layer, path, SettingsError(f"The settings cannot be read: {error.strerror}.", source=path))
            return
        try:
            self.take(layer, path, parse(raw, path))
        except SettingsError as error:
            self.broken(layer, path, error)

    def broken(self, layer: str, path: str, error: SettingsError) -> None:
        self.problems.append(error)
        if layer in ("baked", "managed"):
            self.layers.append(Layer(layer, path, {"only": []}))  # What it forbids is unknown, so nothing is allowed.

    def environment(self, env: Mapping[str, str]) -> None:
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for variable in sorted(name for name in env if name.startswith("PEGBOARD_")):
            key = VARIABLES.get(variable)
            if key is None:
                if variable not in OTHER_VARIABLES:
                    hint = did_you_mean(variable, [*VARIABLES, *OTHER_VARIABLES])
                    self.notices.append(Notice(variable, f"Pegboard knows no such variable.{hint}"))
                continue
            sources[key] = variable
            try:
                values[key] = from_variable(key, env[variable], variable)
            except SettingsError as error:
                self.problems.append(error)
        if values:
            self.take("env", "the environment", values, sources)

    def take(self, layer: str, source: str, found: dict[str, Any], sources: Mapping[str, str] | None = None) -> None:
        values: dict[str, Any] = {}
        examples: dict[str, list[Any]] = {}
        sources = sources or {}
        for key, value in flatten(found):
            place = sources.get(key, source)
            if key not in KEYS:
                self.notices.append(Notice(place, f"There is no setting {key!r}.{did_you_mean(key, KEYS)}"))
            elif wrong := misfit(key, value):
                self.problems.append(SettingsError(wrong, source=place))
                if KEYS[key].merge == "intersect":
                    values[key] = []  # Doubt narrows: an unreadable choice leaves nothing, not everything.
            elif KEYS[key].needs_trust and layer in FROM_REPOSITORY and not self.trusted:
                self.notices.append(Notice(place, f"{key} is not used: a repository may not loosen anything."))
            elif KEYS[key].kind == "rules":
                values[key] = [rule_text(item) for item in value]
                examples[key] = value
            else:
                values[key] = value
        made = Layer(layer, source, values, sources)
        made.examples = examples
        self.layers.append(made)


OTHER_VARIABLES = ("PEGBOARD_DEBUG",)


def flatten(found: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """`{"permissions": {"deny": []}}` as `permissions.deny`."""
    for key, value in found.items():
        if key in GROUPS and isinstance(value, dict):
            for inner, item in value.items():
                yield f"{key}.{inner}", item
        else:
            yield key, value


def from_variable(key: str, text: str, variable: str) -> Any:
    """A variable's text as the setting's kind."""
    if KEYS[key].kind == "strings":
        return [word.strip() for word in text.split(",") if word.strip()]
    if KEYS[key].kind == "count":
        if text.strip().isdecimal():
            return int(text)
        raise SettingsError(f"Expected a whole number, got {text!r}.", source=variable)
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.strip().lower() in words:
        return words[text.strip().lower()]
    raise SettingsError(f"Expected 1 or 0, got {text!r}.", source=variable)


def parse(raw: bytes, path: str) -> dict[str, Any]:
    """The object in a settings file; every fault is named with its line and column."""
    import json

    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            twin = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise SettingsError(f"The key {twin!r} stands twice; one of the two would be lost.", source=path)
        return made

    try:
        found = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=no_twins)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise SettingsError("This is not UTF-8 text.", source=path, line=line, column=column) from None
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"This is not valid JSON: {error.msg}.", source=path, line=error.lineno, column=error.colno
        ) from None
    except RecursionError:
        raise SettingsError("The JSON is nested too deeply.", source=path) from None
    if not isinstance(found, dict):
        raise SettingsError("Expected a JSON object.", source=path, line=1, column=1)
    return found
