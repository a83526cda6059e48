"""Exactly one owner a tool name. Nobody wins in silence: both owners are reported, and settings choose."""

from __future__ import annotations

from pegboard.plugins.builtin import RESERVED, normalise, owner_of
from pegboard.pool.entries import Absent, Entry
from pegboard.settings.layers import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def settle(entries: Sequence[Entry], prefer: Mapping[str, str]) -> tuple[list[Entry], list[Absent], list[Notice]]:
    """Keep one owner for each name; say who else wanted it."""
    claims: dict[str, list[Entry]] = {}
    for entry in entries:
        claims.setdefault(entry.name, []).append(entry)
    kept: list[Entry] = []
    absent: list[Absent] = []
    notices = []
    for name, claimants in claims.items():
        owner = _owner(name, claimants, prefer)
        if owner:
            kept.append(owner)
        losers = [claimant for claimant in claimants if claimant is not owner]
        if losers:
            reason = _explain(name, claimants, owner)
            absent += [Absent(name, loser.dist, loser.family, "conflict", reason) for loser in losers]
            if name not in prefer or owner is None:
                notices.append(Notice(losers[0].dist, reason))
    return kept, absent, notices + _drop_aliases(kept)


def _owner(name: str, claimants: list[Entry], prefer: Mapping[str, str]) -> Entry | None:
    if name in prefer:
        return next((c for c in claimants if normalise(c.dist) == normalise(prefer[name])), None)
    if override := next((c for c in claimants if c.overrides), None):
        return override
    if name in RESERVED:
        return next((c for c in claimants if c.partition == "built-in"), None)
    installed = [c for c in claimants if c.partition != "dynamic"] or claimants[:1]
    return installed[0] if len(installed) == 1 else None


def _explain(name: str, claimants: list[Entry], owner: Entry | None) -> str:
    dists = [claimant.dist for claimant in claimants]
    if len(claimants) == 1:
        mine = owner_of(name)
        kept = f"The name {name!r} is reserved for {mine[0] if mine else 'Pegboard'}, and {dists[0]} claims it."
    else:
        kept = f"{' and '.join(dists)} both own the tool {name!r}. "
        kept += (
            "Neither is used."
            if owner is None
            else "The built-in is kept."
            if owner.partition == "built-in"
            else f"{owner.dist} is used."
        )
    other = next((c.dist for c in claimants if c is not owner), dists[0])
    return f'{kept} To choose {other}, set "prefer": {{"{name}": "{other}"}}.'


def _drop_aliases(kept: list[Entry]) -> list[Notice]:
    """An alias that is somebody's name, or a former name of a built-in, is taken away from its tool."""
    notices = []
    names = {entry.name for entry in kept}
    taken: dict[str, Entry] = {}
    for entry in sorted(kept, key=lambda entry: (entry.partition != "built-in", entry.dist)):
        mine = []
        for alias in entry.record["aliases"]:
            reserved = alias in RESERVED and entry.partition != "built-in"
            if alias in names or alias in taken or reserved:
                notices.append(Notice(entry.dist, f"The alias {alias!r} of {entry.name} is taken and not used."))
            else:
                taken[alias] = entry
                mine.append(alias)
        if mine != entry.record["aliases"]:
            entry.record = {**entry.record, "aliases": mine}
    return notices
