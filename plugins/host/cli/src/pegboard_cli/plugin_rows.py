"""What became of each plugin: active, disabled, quarantined or in conflict, and why."""

from __future__ import annotations

from pegboard.hosting import HOOKS, Features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from pegboard import Settings
    from pegboard.hosting import Absent, PluginRecord, Pool, ScanRecord

    class PluginRow(TypedDict):
        """A line of `pegboard plugins --json`."""

        id: str
        distribution: str
        version: str
        entry: str
        family: str
        state: str
        kind: str
        reason: str
        traceback: str
        hooks: list[str]
        tools: list[str]
        printed: str
        ms: float


STATES = {
    "missing-binary": "quarantined",
    "platform": "quarantined",
    "features": "disabled",
    "disabled-itself": "disabled",
    "setting": "disabled",
}
"""What a plugin is when this layer took out every one of its tools; session filters and rules leave it active."""


def plugin_rows(found: Iterable[PluginRecord], pool: Pool, settings: Settings) -> list[PluginRow]:
    """A row for each plugin that was found, in load order."""
    features = Features(settings)
    return [_row(plugin, pool, features) for plugin in found]


def _row(plugin: PluginRecord, pool: Pool, features: Features) -> PluginRow:
    scanned = plugin["scan"]
    state, kind, reason = _state(plugin, pool, features)
    return {
        "id": plugin["id"],
        "distribution": plugin["dist"],
        "version": plugin["version"],
        "entry": plugin["entry"],
        "family": plugin["family"],
        "state": state,
        "kind": kind,
        "reason": reason,
        "traceback": scanned["traceback"] if scanned and state == "quarantined" else "",
        "hooks": scanned["hooks"] if scanned else [],
        "tools": [record["name"] for record in scanned["tools"]] if scanned else [],
        "printed": scanned["printed"] if scanned else "",
        "ms": scanned["ms"] if scanned else 0.0,
    }


def _state(plugin: PluginRecord, pool: Pool, features: Features) -> tuple[str, str, str]:
    off = features.off(plugin)
    if off:
        return "disabled", "features", off
    scanned = plugin["scan"]
    if scanned is None:
        return "disabled", "not-loaded", "It was not requested, so it was not examined."
    if scanned["state"] != "active":
        return scanned["state"], scanned["kind"], scanned["reason"]
    names = {record["name"] for record in scanned["tools"]}
    gone = [absent for absent in pool.absent if absent.name in names and absent.dist == plugin["dist"]]
    lost = [absent for absent in gone if absent.layer == "conflict"]
    if lost:
        return "conflict", "name-taken", _reasons(lost)
    taken_out = [absent for absent in gone if absent.layer in STATES]
    if names and len(taken_out) == len(names):
        worst = min(taken_out, key=lambda absent: list(STATES).index(absent.layer))
        return STATES[worst.layer], worst.layer, _reasons([a for a in taken_out if a.layer == worst.layer])
    return "active", "", " ".join([*_unspecified(scanned), _reasons(taken_out)]).strip()


def _unspecified(scanned: ScanRecord) -> list[str]:
    return [
        f"Its hook {name} is never called: {HOOKS[name]}, which defines it, is not installed."
        for name in scanned["unspecified"]
    ]


def _reasons(gone: list[Absent]) -> str:
    return " ".join(dict.fromkeys(absent.reason for absent in gone))
