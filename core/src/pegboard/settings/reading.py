"""Read every layer from its place. What is broken, unknown or not yet trusted is said, never skipped in silence."""

from __future__ import annotations

import errno
import os
import stat

from pegboard.errors import SettingsError
from pegboard.nearest import did_you_mean
from pegboard.settings import places
from pegboard.settings.keys import GROUPS, KEYS, NOT_USED, VARIABLES
from pegboard.settings.layers import FROM_REPOSITORY, Layer, Notice, Settings, Withheld
from pegboard.settings.misfits import misfit
from pegboard.settings.rules import rule_text
from pegboard.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Vouches = Callable[[str, bytes], bool]

OF_THE_OWNER = ("baked", "managed")
LARGEST = 4_000_000
"""No settings file has more bytes; a longer one is somebody's trap, and reading it would take all memory."""

IN_DOUBT: dict[str, dict[str, Any]] = {"only": {"only": []}, "disable": {"only": []}, "safeMode": {"safeMode": True}}
"""What a switch that makes no sense is taken for: a listing then looks into less, never into more."""

COMPATIBLE_KEYS = ("permissions.", "hooks", "disableAllHooks", "env", "sandbox", "allowManaged")
"""How the keys begin that are read from a compatible file; the other host's own keys are none of our business."""
SHARED_GROUP = "sandbox."
"""Here also an unknown key is said: a boundary that somebody believes in must not be dropped in silence."""

OWNER_SWITCHES = {"allowManagedPermissionRulesOnly": "permissions.allow", "allowManagedHooksOnly": "hooks"}
"""Switches of the machine's owner, and what then counts from nobody else. Rules that restrict still count from all."""


def load(
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    cli: Mapping[str, Any] | None = None,
    *,
    settings_file: str | None = None,
    trusted: bool = False,
    vouches: Vouches | None = None,
    managed: str | tuple[str, str] = (places.MANAGED, places.COMPATIBLE_MANAGED),
) -> Settings:
    """Read every layer. Broken files become `problems` and unknown keys `notices`; nothing is skipped in silence.

    Whether the project is `trusted` is decided before this is called: nothing that loosens or runs is taken from an
    untrusted one. `vouches(path, content)` says of a local file that the person at this machine made exactly that.
    """
    env = os.environ if env is None else env
    cwd = os.path.abspath(cwd or working_directory())
    root = places.project_root(cwd, env)
    reader = _Reader(trusted, vouches)
    reader.file("baked", places.baked_file())
    for path, compatible in places.managed_files(managed):
        reader.file("managed", path, compatible=compatible)
    if cli:
        reader.take("cli", "the command line", dict(cli))
    if settings_file:
        reader.file("cli", os.path.abspath(settings_file), required=True)
    reader.environment(env)
    own = places.user_files(env)
    at_home = [(os.path.realpath(path), compatible) for path, compatible in own]
    for name, layer in (("settings.local.json", "local"), ("settings.json", "project")):
        for path, compatible in zip(places.repository_files(root, name), (False, True), strict=True):
            # In the home directory itself these are the user's files, read below.
            if (os.path.realpath(path), compatible) not in at_home:
                reader.file(layer, path, compatible=compatible)
    for path, compatible in own:
        reader.file("user", path, compatible=compatible)
    reader.heed_the_owner()
    return Settings(
        reader.layers,
        cwd=cwd,
        root=root,
        problems=reader.problems,
        notices=reader.notices,
        withheld=reader.withheld,
        trusted=trusted,
    )


def working_directory() -> str:
    """The folder this process stands in; a deleted one is named, not crashed on."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise SettingsError("The working directory was deleted. Change to another.", source="cwd") from None


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for anyone: an archive can bring a pipe, and a repository a link to a device."""
    return os.open(path, flags | os.O_NONBLOCK)


class _Reader:
    """Collects layers, and what is wrong with them."""

    def __init__(self, trusted: bool, vouches: Vouches | None = None) -> None:
        self.trusted, self.vouches = trusted, vouches
        self.layers: list[Layer] = []
        self.withheld: list[Withheld] = []
        self.problems: list[SettingsError] = []
        self.notices: list[Notice] = []

    def file(self, layer: str, path: str, *, required: bool = False, compatible: bool = False) -> None:
        try:
            with open(path, "rb", opener=_without_waiting) as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise OSError(errno.EINVAL, "it is not a file")
                raw = stream.read(LARGEST + 1)
                if len(raw) > LARGEST:
                    raise OSError(errno.EFBIG, f"it is longer than {LARGEST} bytes")
        except (FileNotFoundError, NotADirectoryError):
            if required:
                self.problems.append(SettingsError("There is no such settings file.", source=path))
            return
        except OSError as error:
            self.broken(layer, path, SettingsError(f"The settings cannot be read: {error.strerror}.", source=path))
            return
        try:
            found = parse(raw, path)
        except SettingsError as error:
            self.broken(layer, path, error)
            return
        own = layer == "local" and self.vouches is not None and self.vouches(path, raw)
        self.take(layer, path, found, may_loosen=own, compatible=compatible)

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
                values.update(IN_DOUBT.get(key, {}))
        if values:
            self.take("env", "the environment", values, sources)

    def take(
        self,
        layer: str,
        source: str,
        found: dict[str, Any],
        sources: Mapping[str, str] | None = None,
        *,
        may_loosen: bool = False,
        compatible: bool = False,
    ) -> None:
        made = Layer(layer, source, {}, sources)
        free = self.trusted or may_loosen or layer not in FROM_REPOSITORY
        said: set[str] = set()
        for key, value in flatten(found):
            place = made.source_of(key)
            if key in said:
                words = f"{key} stands twice, with a dot and inside {key.partition('.')[0]}; one would be lost."
                self.problems.append(SettingsError(words, source=place))
            said.add(key)
            if compatible and not (key.startswith(SHARED_GROUP) or (key in KEYS and key.startswith(COMPATIBLE_KEYS))):
                continue
            if key in NOT_USED:
                why, anyway = NOT_USED[key]
                if value != anyway:
                    self.notices.append(Notice(place, f"{key} is not used: {why}."))
            elif key in GROUPS and key not in KEYS:
                self.problems.append(SettingsError(f"{key} must be an object, got {shown(value)}.", source=place))
            elif key not in KEYS:
                self.notices.append(Notice(place, f"There is no setting {key!r}.{did_you_mean(key, KEYS)}"))
            elif compatible and KEYS[key].kind == "mode" and misfit(key, value):
                self.notices.append(Notice(place, f"{key} is not used: Pegboard knows no mode {value!r}."))
            elif wrong := misfit(key, value):
                self.problems.append(SettingsError(wrong, source=place))
                made.values.update(IN_DOUBT.get(key, {}))
            elif not free and (KEYS[key].needs_trust or (key == "safeMode" and value is False)):
                self.withhold(key, place, value)
            elif key in OWNER_SWITCHES and layer not in OF_THE_OWNER:
                self.notices.append(Notice(place, f"{key} is not used: only managed settings may set it."))
            else:
                made.values[key] = [rule_text(item) for item in value] if KEYS[key].kind == "rules" else value
                if KEYS[key].kind == "rules":
                    made.examples[key] = value
        self.layers.append(made)

    def withhold(self, key: str, place: str, value: Any) -> None:
        """Keep back what would loosen something, and say so."""
        self.withheld.append(Withheld(key, place, value))
        words = f"{key} is not used: a repository may not loosen anything. To use it, run pegboard trust."
        self.notices.append(Notice(place, words))

    def heed_the_owner(self) -> None:
        """Drop what the machine's owner reserves for managed settings."""
        owners = [layer for layer in self.layers if layer.name in OF_THE_OWNER]
        for switch, key in OWNER_SWITCHES.items():
            by = next((layer.source for layer in owners if layer.values.get(switch)), None)
            for layer in self.layers if by else ():
                if layer.name not in OF_THE_OWNER and layer.values.pop(key, None) is not None:
                    self.notices.append(Notice(layer.source_of(key), f"{key} is not used: {by} reserves it."))


MOST_DIGITS = 19
OTHER_VARIABLES = ("PEGBOARD_DEBUG", "PEGBOARD_PROCESS", "PEGBOARD_PROJECT_DIR", "PEGBOARD_SUBAGENT_MODEL")


def flatten(found: Mapping[str, Any], group: str = "") -> Iterable[tuple[str, Any]]:
    """`{"permissions": {"deny": []}}` as `permissions.deny`."""
    for name, value in found.items():
        key = f"{group}{name}"
        if key in GROUPS and isinstance(value, dict):
            yield from flatten(value, f"{key}.")
        else:
            yield key, value


def from_variable(key: str, text: str, variable: str) -> Any:
    """A variable's text as the setting's kind."""
    if KEYS[key].kind == "strings":
        return [word.strip() for word in text.split(",") if word.strip()]
    if KEYS[key].kind == "count":
        if text.strip().isdecimal() and len(text) < MOST_DIGITS:
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
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise SettingsError(f"The key {key!r} stands twice; one of the two would be lost.", source=path)
            made[key] = value
        return made

    def no_number(word: str) -> Any:
        raise SettingsError(f"{word} is not a number in JSON.", source=path)

    try:
        found = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=no_twins, parse_constant=no_number)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise SettingsError("This is not UTF-8 text.", source=path, line=line, column=column) from None
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"This is not valid JSON: {error.msg}.", source=path, line=error.lineno, column=error.colno
        ) from None
    except ValueError:
        raise SettingsError("A number has too many digits.", source=path) from None
    except RecursionError:
        raise SettingsError("The JSON is nested too deeply.", source=path) from None
    if not isinstance(found, dict):
        raise SettingsError("Expected a JSON object.", source=path, line=1, column=1)
    return found
