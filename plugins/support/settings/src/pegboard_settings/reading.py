"""Read every layer from its place. What is broken, unknown or not yet trusted is reported, never skipped silently."""

from __future__ import annotations

import errno
import os
import stat

from pegboard_settings import locations as places
from pegboard_settings.errors import SettingsError
from pegboard_settings.keys import groups_of, misfit
from pegboard_settings.layers import FROM_REPOSITORY, OF_THE_OWNER, Layer, Notice, Settings, Withheld
from pegboard_settings.parsing import find_value, from_variable, parse
from pegboard_settings.rules import rule_text
from pegboard_settings.wording import did_you_mean, shown, slip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Unpack

    from pegboard_settings.keys import Key, Keys
    from pegboard_settings.records import LoadOptions, Vouches

LARGEST = 4_000_000
"""No settings file has more bytes; a longer one is a trap, and reading it would take all memory."""

IN_DOUBT: dict[str, dict[str, Any]] = {"only": {"only": []}, "disable": {"only": []}, "safeMode": {"safeMode": True}}
"""What a switch that makes no sense is taken for: a listing then looks into less, never into more."""

OTHER_VARIABLES = ("PEGBOARD_DEBUG", "PEGBOARD_PROCESS", "PEGBOARD_PROJECT_DIR", "PEGBOARD_SUBAGENT_MODEL")


def load(
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    cli: Mapping[str, Any] | None = None,
    **options: Unpack[LoadOptions],
) -> Settings:
    """Read every layer. Broken files become `problems` and unknown keys `notices`; nothing is skipped silently.

    Whether the project is `trusted` is decided before this is called: nothing that loosens or runs is taken from an
    untrusted one. `vouches(path, content)` says of a local file that the person at this machine made exactly that.
    What an `application` says, and what is in a `settings_file`, is as strong as the command line. `managed` is where
    the files of the machine's owner are; `keys` are the settings that exist, by default all that are installed.
    """
    env = os.environ if env is None else env
    cwd = os.path.abspath(cwd or working_directory())
    root = places.project_root(cwd, env)
    given = _Options(**options)
    keys = given.keys or Settings.find_keys(env)
    reader = _Reader(keys, given.trusted, given.vouches)
    reader.file("baked", places.baked_file())
    for path, compatible in places.managed_files(given.managed):
        reader.file("managed", path, compatible=compatible)
    if cli:
        reader.take(_Source("cli", "the command line"), dict(cli))
    if given.application:
        reader.take(_Source("cli", "the application"), dict(given.application))
    if given.settings_file:
        reader.file("cli", os.path.abspath(given.settings_file), required=True)
    reader.environment(env)
    own = places.user_files(env)
    at_home = [(os.path.realpath(path), compatible) for path, compatible in own]
    for name, layer in (("settings.local.json", "local"), ("settings.json", "project")):
        for path, compatible in places.project_files(root, cwd, name):
            # In the home directory itself these are the user's files, read below.
            if (os.path.realpath(path), compatible) not in at_home:
                reader.file(layer, path, compatible=compatible)
    for path, compatible in own:
        reader.file("user", path, compatible=compatible)
    reader.heed_the_owner()
    return reader.report(Settings(reader.layers, cwd=cwd, root=root, trusted=given.trusted, keys=keys))


class _Options:
    """The options of `load` with their defaults."""

    def __init__(
        self,
        *,
        trusted: bool = False,
        vouches: Vouches | None = None,
        application: Mapping[str, Any] | None = None,
        settings_file: str | None = None,
        managed: str | tuple[str, str] = (places.MANAGED, places.COMPATIBLE_MANAGED),
        keys: Keys | None = None,
    ) -> None:
        self.trusted, self.vouches, self.application = trusted, vouches, application
        self.settings_file, self.managed, self.keys = settings_file, managed, keys


def read_values(layer: str, source: str, values: Mapping[str, Any], keys: Keys) -> Settings:
    """Settings of one layer that are in no file yet, checked as if they were."""
    reader = _Reader(keys, trusted=True)
    reader.take(_Source(layer, source), dict(values))
    return reader.report(Settings(reader.layers, keys=keys))


def working_directory() -> str:
    """The current folder of this process; a deleted one is reported, not a crash."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise SettingsError("The working directory was deleted. Change to another one.", source="cwd") from None


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for anyone: an archive can bring a pipe, and a repository a link to a device."""
    return os.open(path, flags | os.O_NONBLOCK)


class _Source:
    """A file, the environment or an application, and what may be taken from it."""

    __slots__ = ("compatible", "free", "made", "text")

    def __init__(self, layer: str, name: str, *, sources: Mapping[str, str] | None = None) -> None:
        self.made = Layer(layer, name, {}, sources)
        self.free = layer not in FROM_REPOSITORY
        """Whether its settings may loosen something."""
        self.compatible = False
        """Whether it is written for another host of the same rules: of its keys only those in common count."""
        self.text = b""
        """The content of the file, to find the line of a fault."""


class _Reader:
    """Collects layers, and what is wrong with them."""

    def __init__(self, keys: Keys, trusted: bool, vouches: Vouches | None = None) -> None:
        self.keys, self.trusted, self.vouches = keys, trusted, vouches
        self.groups = keys.groups | groups_of(keys.guards)
        self.layers: list[Layer] = []
        self.withheld: list[Withheld] = []
        self.problems: list[SettingsError] = []
        self.notices = [Notice(dist, fault) for dist, fault in keys.faults]
        self.unkept: list[tuple[str, str]] = []
        self.ignored: dict[str, list[str]] = {}

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
        source = _Source(layer, path)
        source.compatible, source.text = compatible, raw
        source.free |= layer == "local" and self.vouches is not None and self.vouches(path, raw)
        self.take(source, found)

    def broken(self, layer: str, path: str, error: SettingsError) -> None:
        self.problems.append(error)
        if layer in OF_THE_OWNER:
            self.layers.append(Layer(layer, path, {"only": []}))  # What it forbids is unknown, so nothing is allowed.

    def environment(self, env: Mapping[str, str]) -> None:
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        named = self.keys.variables
        for variable in sorted(name for name in env if name in named or name.startswith("PEGBOARD_")):
            if variable not in named:
                if variable not in OTHER_VARIABLES:
                    hint = did_you_mean(variable, [*named, *OTHER_VARIABLES])
                    self.notices.append(Notice(variable, f"Pegboard has no such variable.{hint}"))
                continue
            key = self.keys[named[variable]]
            sources[key.name] = variable
            try:
                values[key.name] = from_variable(key, env[variable])
            except SettingsError as error:
                self.problems.append(error)
                values.update(IN_DOUBT.get(key.name, {}))
        if values:
            self.take(_Source("env", "the environment", sources=sources), values)

    def take(self, source: _Source, found: dict[str, Any]) -> None:
        source.free |= self.trusted
        said: set[str] = set()
        for name, value in flatten(found, self.groups):
            if name in said:
                words = f"Duplicate setting {name}: with a dot and inside {name.partition('.')[0]}. Remove one."
                self.problem(source, name, words)
            said.add(name)
            key = self.keys.get(name)
            if key is None:
                self.undeclared(source, name, value)
            elif key.compatible or not source.compatible:
                self.take_value(source, key, value)
            else:
                self.ignore(source, name)
        self.layers.append(source.made)

    def take_value(self, source: _Source, key: Key, value: Any) -> None:
        """Take one value, or say why it does not count."""
        name, made = key.name, source.made
        place, wrong = made.source_of(name), misfit(key, value)
        if wrong and source.compatible and key.kind == "mode":
            self.notices.append(Notice(place, f"{name} is not used: Pegboard has no mode {value!r}."))
        elif wrong and (source.compatible or may_lose_entries(source, key)) and self.salvaged(source, key, value):
            return
        elif wrong:
            self.problem(source, name, wrong)
            made.values.update(IN_DOUBT.get(name, {}))
        elif not source.free and (not key.repository or (name == "safeMode" and value is False)):
            self.withhold(name, place, value)
        elif key.reserves and made.name not in OF_THE_OWNER:
            self.notices.append(Notice(place, f"{name} is not used: only managed settings may set it."))
        elif key.kind == "rules":
            made.values[name], made.examples[name] = [rule_text(item) for item in value], value
        else:
            made.values[name] = value

    def salvaged(self, source: _Source, key: Key, value: Any) -> bool:
        """Take what is sound of a malformed value, and name what is not; False where that is not enough."""
        # Imported here: only a malformed file needs it.
        from pegboard_settings.salvage import NOTHING, salvage

        made = source.made
        found = None if made.name in OF_THE_OWNER else salvage(key, value, source.text.decode("utf-8-sig"))
        if found is None:
            return False
        rest, faults = found
        for line, words in faults:
            place = made.source_of(key.name)
            self.notices.append(Notice(place if line is None else f"{place}:{line}", f"{words} It is skipped."))
        if rest is not NOTHING:
            self.take_value(source, key, rest)
        return True

    def ignore(self, source: _Source, name: str) -> None:
        """A key of the other host that means nothing here: `doctor` lists it."""
        if name != "$schema":
            self.ignored.setdefault(source.made.source_of(name), []).append(name)

    def undeclared(self, source: _Source, name: str, value: Any) -> None:
        """Say of a key that nothing installed declares whether it is missed, misspelt or merely unknown."""
        place, guard, compatible = source.made.source_of(name), self.keys.guards.get(name), source.compatible
        group = name.rpartition(".")[0]
        if guard and (guard.get("compatible") or not compatible):
            if value and (source.free or guard.get("repository")):
                self.unkept.append((name, place))
        elif name in self.keys.not_used:
            why, anyway = self.keys.not_used[name]
            if value != anyway:
                self.notices.append(Notice(place, f"{name} is not used: {why}."))
        elif name in self.groups and (not compatible or self.is_shared(name)):
            self.problem(source, name, f"{name} must be an object, got {shown(value)}.")
        elif compatible and not any(other.startswith(f"{group}.") for other in self.keys.not_used if group):
            self.ignore(source, name)
        else:
            self.unknown(source, name)

    def unknown(self, source: _Source, name: str) -> None:
        """A misspelt promise of protection stops everything where the owner of the machine wrote it."""
        protecting = {key for key, record in self.keys.records.items() if record.get("guard") or "reserves" in record}
        protecting |= {*self.keys.guards, *groups_of(self.keys.guards)}
        owned = source.made.name in OF_THE_OWNER and not source.compatible
        if owned and (meant := slip(name, protecting)):
            self.problem(source, name, f"There is no setting {name!r}. Did you mean {meant!r}?")
            return
        owner = self.keys.namespaces.get(name.partition(".")[0])
        hint = did_you_mean(name, {*self.keys, *self.groups})
        if owner and owner not in self.owners:
            hint = f" It may belong to {owner}, which is not installed."
        self.notices.append(Notice(source.made.source_of(name), f"There is no setting {name!r}.{hint}"))

    def is_shared(self, group: str) -> bool:
        """Whether compatible hosts have a group of settings too."""
        known = [*self.keys.records.items(), *self.keys.guards.items()]
        return any(record.get("compatible") for key, record in known if key.startswith(f"{group}."))

    @property
    def owners(self) -> set[str]:
        """The distributions that declare settings."""
        return {self.keys.owner(name) for name in self.keys}

    def problem(self, source: _Source, name: str, words: str) -> None:
        """Note what is wrong with a key, with its line where the file is known."""
        line = column = None
        if source.text:
            line, column = find_value(source.text.decode("utf-8-sig"), name) or (None, None)
        self.problems.append(SettingsError(words, source=source.made.source_of(name), line=line, column=column))

    def report(self, settings: Settings) -> Settings:
        """The settings together with what was found on the way to them."""
        settings.problems, settings.notices = self.problems, self.notices
        settings.withheld, settings.unkept, settings.ignored = self.withheld, self.unkept, self.ignored
        return settings

    def withhold(self, key: str, place: str, value: Any) -> None:
        """Keep back what would loosen something, and say so."""
        self.withheld.append(Withheld(key, place, value))
        words = f"{key} is not used: an untrusted project cannot loosen permissions. To use it, run pegboard trust."
        self.notices.append(Notice(place, words))

    def heed_the_owner(self) -> None:
        """Drop what the machine's owner reserves for managed settings."""
        owners = [layer for layer in self.layers if layer.name in OF_THE_OWNER]
        for switch, key in self.keys.reserving.items():
            by = next((layer.source for layer in owners if layer.values.get(switch)), None)
            for layer in self.layers if by else ():
                if layer.name not in OF_THE_OWNER and layer.values.pop(key, None) is not None:
                    self.notices.append(Notice(layer.source_of(key), f"{key} is not used: {by} reserves it."))


def may_lose_entries(source: _Source, key: Key) -> bool:
    """Whether a malformed entry in a file of ours is left out: of a list that allows or runs something.

    Without it less is allowed. Anything else there is a wish that is not understood, and nothing acts on a guess.
    """
    return bool(source.text) and key.kind in ("rules", "strings", "lists") and not key.repository


def flatten(found: Mapping[str, Any], groups: set[str], group: str = "") -> Iterable[tuple[str, Any]]:
    """`{"permissions": {"deny": []}}` as `permissions.deny`."""
    for name, value in found.items():
        key = f"{group}{name}"
        if key in groups and isinstance(value, dict):
            yield from flatten(value, groups, f"{key}.")
        else:
            yield key, value
