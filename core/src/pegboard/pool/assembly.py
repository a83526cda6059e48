"""Put the pool together: every known tool ends up in it or has a reason why not."""

from __future__ import annotations

import os
import sys

from pegboard.plugins.builtin import OWNERS, is_builtin, normalise
from pegboard.plugins.features import Features
from pegboard.pool.conflicts import settle
from pegboard.pool.entries import Absent, Entry, Pool
from pegboard.settings import FROM_REPOSITORY, Layer, Notice, Settings
from pegboard.wording import did_you_mean
from pegboard_settings import ORDER, bare_name, name_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pegboard.records import PluginName, PluginRecord, ToolOwner, ToolRecord

    IsEnabled = Callable[[Entry], str | None]


def assemble(
    plugins: Iterable[PluginRecord],
    settings: Settings,
    *,
    dynamic: Sequence[tuple[ToolRecord, ToolOwner]] = (),
    is_enabled: IsEnabled | None = None,
    env: Mapping[str, str] | None = None,
    version: int = 0,
) -> Pool:
    """The pool for these plugins and settings. `dynamic` are (record, plugin) pairs from sources at run time."""
    plugins, features = list(plugins), Features(settings)
    entries, absent = _offered(plugins, features)
    entries += [Entry(record, plugin, "dynamic") for record, plugin in dynamic]
    notices = settings.notices + features.refusals(plugins)
    notices += features.unknown(plugins, [entry.name for entry in entries])
    for keep in (_switched_on(features), _is_set(settings), _can_run(os.environ if env is None else env, is_enabled)):
        entries, gone = _sift(entries, keep)
        absent += gone
    entries, gone, said = settle(entries, settings.get("prefer", {}))
    absent, notices = absent + gone, notices + said
    notices += _unknown_names(settings, entries, absent)
    for keep in (_session(settings), _not_denied(settings), _needed(settings)):
        entries, gone = _sift(entries, keep)
        absent += gone
    absent += _not_installed(plugins, entries, absent, features)
    return Pool(entries, absent, notices, version)


def _sift(entries: list[Entry], keep: Callable[[Entry], tuple[str, str] | None]) -> tuple[list[Entry], list[Absent]]:
    kept, absent = [], []
    for entry in entries:
        verdict = keep(entry)
        if verdict is None:
            kept.append(entry)
        else:
            absent.append(Absent(entry.name, entry.dist, entry.family, *verdict))
    return kept, absent


def _offered(plugins: list[PluginRecord], features: Features) -> tuple[list[Entry], list[Absent]]:
    entries, absent = [], []
    for plugin in plugins:
        builtin = is_builtin(plugin["dist"], plugin["entry"])
        scanned = plugin["scan"]
        names = [record["name"] for record in scanned["tools"]] if scanned else []
        names = names or [name for name, owner in OWNERS.items() if builtin and owner[1] == plugin["entry"]]
        off = features.off(plugin)
        if off:
            absent += [Absent(name, plugin["dist"], plugin["family"], "features", off) for name in names]
        elif scanned is None or scanned["state"] != "active":
            reason = scanned["reason"] if scanned else ""
            absent += [Absent(name, plugin["dist"], plugin["family"], "quarantine", reason) for name in names]
        else:
            for record in scanned["tools"]:
                own = OWNERS.get(record["name"], ("", ""))[1] == plugin["entry"]
                entries.append(Entry(record, plugin, "built-in" if builtin and own else "third-party"))
    return entries, absent


def _switched_on(features: Features) -> Callable[[Entry], tuple[str, str] | None]:
    def keep(entry: Entry) -> tuple[str, str] | None:
        plugin: PluginName = {"family": entry.family, "entry": entry.entry, "dist": entry.dist}
        off = features.tool_off(entry.name, plugin)
        if entry.partition == "dynamic":
            off = off or features.off(plugin)
        return ("features", off) if off else None

    return keep


def _is_set(settings: Settings) -> Callable[[Entry], tuple[str, str] | None]:
    def keep(entry: Entry) -> tuple[str, str] | None:
        name = entry.record["requires_setting"]
        if name and not settings.get(name, None):
            return "setting", f"{entry.name} is there only where the setting {name} is on."
        return None

    return keep


def _can_run(env: Mapping[str, str], is_enabled: IsEnabled | None) -> Callable[[Entry], tuple[str, str] | None]:
    def keep(entry: Entry) -> tuple[str, str] | None:
        platforms, binaries = entry.record["platforms"], entry.record["requires_binaries"]
        if platforms and sys.platform not in platforms:
            return "platform", f"{entry.name} works on {', '.join(platforms)}, and this is {sys.platform}."
        for binary in binaries:
            if not find_binary(binary, env):
                return "missing-binary", missing_binary(entry.name, binary)
        if entry.record["dynamic"] and is_enabled and (reason := is_enabled(entry)):
            return "disabled-itself", reason
        return None

    return keep


def missing_binary(tool: str, binary: str) -> str:
    """The sentence about a program that is not there."""
    return f"{tool} needs the program {binary!r}, which is not on PATH. Install it and try again."


def find_binary(name: str, env: Mapping[str, str]) -> str | None:
    """The program's path, by PATH; the working directory is never searched."""
    folders = [""] if os.path.isabs(name) else [f for f in env.get("PATH", "").split(os.pathsep) if os.path.isabs(f)]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _session(settings: Settings) -> Callable[[Entry], tuple[str, str] | None]:
    available = _deciding(settings)
    excluded = [
        (word, layer.source_of("excludedTools"))
        for word, layer in settings.items("excludedTools")
        if not any(_overrules(chooser, layer, settings) for chooser in available)
    ]

    def keep(entry: Entry) -> tuple[str, str] | None:
        names = {entry.name, *entry.record["aliases"]}
        for layer in available:
            if names.isdisjoint(layer.values["availableTools"]):
                return "session", f"{entry.name} is not in availableTools of {layer.source_of('availableTools')}."
        for word, source in excluded:
            if word in names:
                return "session", f"{entry.name} is in excludedTools of {source}."
        return None

    return keep


def _deciding(settings: Settings) -> list[Layer]:
    """The layers whose availableTools count: the strongest; under an untrusted repository, the next one as well."""
    deciding = []
    for layer in settings.holders("availableTools"):
        deciding.append(layer)
        if settings.trusted or layer.name not in FROM_REPOSITORY:
            break
    return deciding


def _overrules(chooser: Layer, other: Layer, settings: Settings) -> bool:
    """Whether a list of available tools makes another layer's exclusions moot; a mere clone never does."""
    if chooser.name == other.name:
        return True
    free = settings.trusted or chooser.name not in FROM_REPOSITORY
    return free and ORDER.index(chooser.name) < ORDER.index(other.name)


def _not_denied(settings: Settings) -> Callable[[Entry], tuple[str, str] | None]:
    rules = [(bare_name(rule), rule, layer) for rule, layer in settings.items("permissions.deny")]

    def keep(entry: Entry) -> tuple[str, str] | None:
        for name, rule, layer in rules:
            if name and any(name_matches(name, known) for known in (entry.name, *entry.record["aliases"])):
                return "deny-rule", f"The rule {rule} in {layer.source_of('permissions.deny')} denies every call."
        return None

    return keep


def _needed(settings: Settings) -> Callable[[Entry], tuple[str, str] | None]:
    """Without deferral there is nothing to fetch."""
    is_off = settings.get("deferral.mode", "") == "off"  # Declared by the session; unknown where there is none.

    def keep(entry: Entry) -> tuple[str, str] | None:
        if is_off and entry.record["fetches_tools"]:
            return "deferral", f"{entry.name} fetches deferred tools, and deferral.mode is off."
        return None

    return keep


def _unknown_names(settings: Settings, entries: list[Entry], absent: list[Absent]) -> list[Notice]:
    known = {name for entry in entries for name in (entry.name, *entry.record["aliases"])}
    known |= {gone.name for gone in absent} | set(OWNERS)
    return [
        Notice(layer.source_of(key), f"{key}: there is no tool {name!r}.{did_you_mean(name, known)}")
        for key in ("availableTools", "excludedTools", "prefer")
        for name, layer in settings.items(key)
        if name not in known
    ]


def _not_installed(
    plugins: list[PluginRecord], entries: list[Entry], absent: list[Absent], features: Features
) -> list[Absent]:
    """Built-in tools that no installed plugin provides, so that their absence has a reason too."""
    here = {entry.name for entry in entries} | {gone.name for gone in absent}
    gone = []
    for name, (dist, entry) in OWNERS.items():
        if name not in here:
            family = entry.partition(".")[0]
            off = features.off({"dist": dist, "entry": entry, "family": family})
            found = any(plugin["entry"] == entry and normalise(plugin["dist"]) == dist for plugin in plugins)
            lacking = "in this version has no such tool" if found else "is not installed"
            reason = off or f"{dist} {lacking}."
            gone.append(Absent(name, dist, family, "features" if off else "not-installed", reason))
    return gone
