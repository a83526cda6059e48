"""Protection that settings ask for and that is not there. Whatever would act stops; listings say so and go on."""

from __future__ import annotations

from types import ModuleType

from pegboard.errors import PluginError, PolicyError
from pegboard.plugins.builtin import normalise
from pegboard.reserved import GUARDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from pegboard.plugins.features import Features
    from pegboard.records import PluginRecord


def require_guards(
    features: Features, found: Sequence[PluginRecord], given: Iterable[object] = (), *, strict: bool
) -> None:
    """Raise the first reason why nothing may run. In strict mode every plugin that cannot be used is one.

    `given` are objects with hooks that an application brings; the guard of a distribution may be among them.
    """
    brought = {normalise(_module(plugin).partition(".")[0]) for plugin in given}
    for problem in guard_problems(features, found, brought):
        raise problem
    for plugin in found:
        scanned = plugin["scan"]
        if scanned and scanned["state"] == "quarantined" and features.off(plugin) is None:
            reason, traceback = f"{plugin['id']}: {scanned['reason']}", scanned["traceback"]
            if plugin["family"] == "policy":
                raise PolicyError(reason, kind=scanned["kind"], traceback=traceback)
            if strict:
                raise PluginError(reason, kind=scanned["kind"], traceback=traceback)


def _module(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__


def guard_problems(
    features: Features, found: Sequence[PluginRecord], brought: Container[str] = ()
) -> list[PolicyError]:
    """Each promise of the settings that nothing here keeps: a guard that is missing or off, a misspelt switch."""
    problems = [
        PolicyError(
            f"{source}: {name} needs {GUARDS[name]['owner']}, which is not installed. "
            f"Run pip install {GUARDS[name]['owner']}, or remove {name}.",
            kind="guard-missing",
        )
        for name, source in features.settings.unkept
        if GUARDS[name]["owner"] not in brought
    ]
    for name, source, owner, entries in _asked(features):
        for entry in entries if owner not in brought else ():
            kept = (p for p in found if p["entry"] == entry and normalise(p["dist"]) == owner)
            reason = _absence(next(kept, None), owner, entry, features)
            if reason:
                words = f"{source}: {name} needs {entry}. {reason} Fix that, or remove {name}."
                problems.append(PolicyError(words, kind="guard-missing"))
    problems += [PolicyError(str(notice), kind="unknown-switch") for notice in features.misspelt(found)]
    return problems


def _asked(features: Features) -> Iterable[tuple[str, str, str, Iterable[str]]]:
    """The guards that some layer asks for: name, source, distribution, plugins. False and empty ask for nothing."""
    settings = features.settings
    for name, record in settings.keys.records.items():
        if plugins := record.get("plugins"):
            for layer in settings.holders(name):
                if layer.values[name]:
                    yield name, layer.source_of(name), record.get("owner", ""), plugins
                    break


def _absence(plugin: PluginRecord | None, owner: str, entry: str, features: Features) -> str:
    """Why a plugin does not keep its promises, or nothing."""
    if plugin is None:
        return f"{owner} is not among the plugins of this board."
    if off := features.off(plugin):
        return off
    scanned = plugin["scan"]
    if scanned and scanned["state"] != "active":
        return f"{plugin['id']} cannot be used: {scanned['reason']}"
    return ""
