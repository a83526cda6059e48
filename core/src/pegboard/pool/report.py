"""What became of each plugin: active, disabled, quarantined or in conflict, and why."""

from __future__ import annotations

from pegboard.plugins.features import Features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pegboard.pool.entries import Absent, Pool
    from pegboard.settings.layers import Settings

    Found = dict[str, Any]

STATES = {
    "missing-binary": "quarantined",
    "platform": "quarantined",
    "features": "disabled",
    "disabled-itself": "disabled",
}
"""What a plugin is when this layer took out every one of its tools; session filters and rules leave it active."""


def plugin_rows(found: Iterable[Found], pool: Pool, settings: Settings) -> list[dict[str, Any]]:
    """A row for each plugin that was found, in load order."""
    features = Features(settings)
    return [_row(plugin, pool, features) for plugin in found]


def _row(plugin: Found, pool: Pool, features: Features) -> dict[str, Any]:
    scanned = plugin["scan"] or {}
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
        "traceback": scanned.get("traceback", "") if state == "quarantined" else "",
        "hooks": scanned.get("hooks", []),
        "tools": [record["name"] for record in scanned.get("tools", ())],
        "printed": scanned.get("printed", ""),
        "ms": scanned.get("ms", 0.0),
    }


def _state(plugin: Found, pool: Pool, features: Features) -> tuple[str, str, str]:
    off = features.off(plugin)
    if off:
        return "disabled", "features", off
    scanned = plugin["scan"]
    if scanned is None:
        return "disabled", "not-loaded", "It was not asked for and has not been looked at."
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
    return "active", "", _reasons(taken_out)


def _reasons(gone: list[Absent]) -> str:
    return " ".join(dict.fromkeys(absent.reason for absent in gone))
