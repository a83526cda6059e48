"""What goes into a bundle: the chosen plugins, everything they require, and nothing that was not chosen."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement

from pegboard.hosting import (
    BY_FULL_NAME,
    FAMILIES,
    GUARDS,
    OWNERS,
    Discovery,
    Features,
    PluginRecord,
    discover,
    owner_of,
    plugin_roots,
)
from pegboard.settings import Keys, read_values
from pegboard.wording import did_you_mean
from pegboard_authors.exit_codes import UsageError
from pegboard_authors.wheels import editable_root

ALWAYS = ("pegboard-core", "pegboard-cli")
ALONG = ("policy", "providers")
"""Families that come along unasked: without a guard more is allowed, and without a provider no model can be asked."""


OF_NO_TOOLS = {
    "policy": "Installed policies are included automatically.",
    "providers": "Installed providers are included automatically.",
    "support": "What a chosen plugin needs from it is included automatically.",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A bundle on paper."""

    plugins: list[PluginRecord]
    distributions: list[Distribution]
    baked: dict[str, Any]
    left_out: list[str]
    """Guards and providers that are installed here and that the bundle does without."""


def canonical(name: str) -> str:
    """A distribution's name as installers compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def choose(
    families: Sequence[str],
    without: Sequence[str] = (),
    extra: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Choice:
    """Pick plugins by family and name. Only metadata is read; nothing of a plugin is imported.

    Guards and providers are included unless they are left out; a guard that the `settings` of the bundle need
    cannot be left out.
    """
    installed = discover(plugin_roots())
    found = installed["plugins"]
    _check_families(families, found)
    _check_extra(extra)
    named, taken = {canonical(name) for name in extra}, {*families, *ALONG}
    wanted = [plugin for plugin in found if plugin["family"] in taken or canonical(plugin["dist"]) in named]
    wanted, disabled = _leave_out(wanted, without, found)
    for plugin in wanted:
        if plugin["scan"]:
            raise UsageError(f"{plugin['id']} cannot be used: {plugin['scan']['reason']}")
    if not [plugin for plugin in wanted if plugin["family"] not in BY_FULL_NAME]:
        raise UsageError("There is nothing to build: the choice includes no installed plugin with tools.")
    everything = closure([*ALWAYS, *(plugin["dist"] for plugin in wanted), *extra])
    inside = {canonical(dist.metadata["Name"]) for dist in everything}
    wanted += [plugin for plugin in found if plugin["family"] == "support" and canonical(plugin["dist"]) in inside]
    _refuse_stowaways(inside, wanted, found)
    baked = bake(settings or {}, _words(wanted, found), disabled, installed, inside)
    left_out = [plugin["entry"] for plugin in found if plugin["family"] in ALONG and plugin not in wanted]
    return Choice(wanted, everything, baked, left_out)


def bake(
    settings: Mapping[str, Any], only: list[str], disabled: list[str], installed: Discovery, inside: set[str]
) -> dict[str, Any]:
    """The fixed settings of the bundle. Each must belong to a plugin inside it."""
    if "only" in settings:
        raise UsageError("The settings contain the key 'only'. Use --families instead; the bundle fixes that choice.")
    baked = {**settings, "only": only}
    if disabled:
        baked["disable"] = [*settings.get("disable", []), *disabled]
    declared = installed["declared"]
    own = {name: record for name, record in declared["settings"].items() if record.get("owner") in inside}
    keys = Keys({"settings": own, "not_used": declared["not_used"], "faults": declared["faults"]})
    read = read_values("baked", "--settings", baked, keys)
    for name, _ in read.unkept:
        dist = GUARDS[name]["owner"]
        raise UsageError(f"{name} in the settings needs {dist}, which is left out. Include it, or remove {name}.")
    for wrong in (*read.problems, *read.notices, *Features(read).misspelt(installed["plugins"])):
        raise UsageError(str(wrong))
    return baked


def _check_families(families: Sequence[str], found: list[PluginRecord]) -> None:
    installed = {plugin["family"] for plugin in found}
    for family in families:
        if family in BY_FULL_NAME:
            raise UsageError(f"The family {family} has no tools. {OF_NO_TOOLS[family]}")
        if family not in installed:
            if family in FAMILIES:
                owners = sorted({dist for dist, entry in OWNERS.values() if entry.startswith(f"{family}.")})
                raise UsageError(f"No plugin of the family {family} is installed. Install {' or '.join(owners)} first.")
            raise UsageError(f"There is no family {family!r}.{did_you_mean(family, {*installed, *FAMILIES})}")


def _check_extra(extra: Sequence[str]) -> None:
    for name in extra:
        try:
            distribution(name)
        except PackageNotFoundError:
            raise UsageError(f"{name} is not installed. A bundle is made from what is installed here.") from None


def _leave_out(
    wanted: list[PluginRecord], words: Sequence[str], found: list[PluginRecord]
) -> tuple[list[PluginRecord], list[str]]:
    """Without the plugins that were named; a single tool of a plugin with several is switched off instead."""
    disabled = []
    for word in words:
        owner, names = owner_of(word), _names(found)
        if owner:
            alone = [name for name, one in OWNERS.items() if one == owner] == [word]
            if not alone:
                disabled.append(word)
                continue
            wanted = [plugin for plugin in wanted if plugin["entry"] != owner[1]]
        elif word in names or canonical(word) in names:
            wanted = [
                p for p in wanted if word not in (p["family"], p["entry"]) and canonical(p["dist"]) != canonical(word)
            ]
        else:
            raise UsageError(
                f"--without {word}: there is no such family, plugin, distribution or tool.{did_you_mean(word, names)}"
            )
    return wanted, disabled


def _names(found: list[PluginRecord]) -> set[str]:
    names = {canonical(plugin["dist"]) for plugin in found}
    return names | {plugin["family"] for plugin in found} | {plugin["entry"] for plugin in found}


def closure(names: Iterable[str]) -> list[Distribution]:
    """These distributions and all they require, sorted by name."""
    waiting = [(name, frozenset[str]()) for name in names]
    seen: dict[str, Distribution] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        key = (canonical(name), extras)
        if key in done:
            continue
        done.add(key)
        try:
            dist = distribution(name)
        except PackageNotFoundError:
            raise UsageError(f"{name} is required but not installed. Install it, then build again.") from None
        seen[key[0]] = dist
        waiting += [(need.name, frozenset(need.extras)) for need in requirements(dist) if _applies(need, extras)]
    return [seen[name] for name in sorted(seen)]


def _applies(need: Requirement, extras: frozenset[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def requirements(dist: Distribution) -> list[Requirement]:
    """What a distribution requires. The metadata of an editable install may be older than its project."""
    root = editable_root(dist)
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8")).get("project", {}) if root else {}
    if not project or {"dependencies", "optional-dependencies"}.intersection(project.get("dynamic", ())):
        return [Requirement(text) for text in dist.requires or ()]
    needs = [Requirement(text) for text in project.get("dependencies", ())]
    for extra, texts in project.get("optional-dependencies", {}).items():
        for need in map(Requirement, texts):
            condition = f'extra == "{extra}"'
            need.marker = Marker(f"({need.marker}) and {condition}" if need.marker else condition)
            needs.append(need)
    return needs


def _refuse_stowaways(inside: set[str], wanted: list[PluginRecord], found: list[PluginRecord]) -> None:
    """A plugin must not be included only because another distribution requires it, unless it provides only services."""
    chosen = {canonical(plugin["dist"]) for plugin in wanted}
    for plugin in found:
        name = canonical(plugin["dist"])
        if name in inside and name not in chosen:
            raise UsageError(
                f"A chosen plugin requires {plugin['dist']}, which contains {plugin['entry']}. "
                f"Choose that as well, or leave out the plugin that requires it."
            )


def _words(wanted: list[PluginRecord], found: list[PluginRecord]) -> list[str]:
    """What the bundle allows: distributions by name, because any one may claim a family; entries where only some."""
    words = set()
    entries = {plugin["entry"] for plugin in wanted}
    for plugin in wanted:
        if plugin["family"] in BY_FULL_NAME:
            continue
        mine = [other["entry"] for other in found if other["dist"] == plugin["dist"]]
        words.add(canonical(plugin["dist"]) if entries.issuperset(mine) else plugin["entry"])
    return sorted(words)
