"""Each tool name has one owner; a conflict is always reported with both owners, and settings choose."""

from __future__ import annotations

from pegboard.plugins.builtin import RESERVED, normalise, owner_of
from pegboard.pool.entries import Absent, Entry
from pegboard.settings import Notice

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
        chosen = next((c for c in claimants if name in prefer and normalise(c.dist) == normalise(prefer[name])), None)
        if name in prefer and chosen is None:
            notices.append(Notice(prefer[name], f"prefer: {prefer[name]} has no usable tool {name!r}."))
        owner = chosen or _owner(name, claimants)
        if owner:
            kept.append(owner)
        losers = [claimant for claimant in claimants if claimant is not owner]
        if losers:
            reason = _explain(name, claimants, owner)
            absent += [Absent(name, loser.dist, loser.family, "conflict", reason) for loser in losers]
            if chosen is None:
                notices.append(Notice(losers[0].dist, reason))
    return kept, absent, notices + _drop_aliases(kept)


def _owner(name: str, claimants: list[Entry]) -> Entry | None:
    if override := next((c for c in claimants if c.overrides), None):
        return override
    if name in RESERVED:
        return next((c for c in claimants if c.partition == "built-in"), None)
    installed = [c for c in claimants if c.partition != "dynamic"] or claimants[:1]
    return installed[0] if len(installed) == 1 else None


def _explain(name: str, claimants: list[Entry], owner: Entry | None) -> str:
    dists = list(dict.fromkeys(claimant.dist for claimant in claimants))
    other = next((c.dist for c in claimants if c is not owner), dists[0])
    choice = f' To choose {other}, set "prefer": {{"{name}": "{other}"}}.'
    if len(claimants) == 1:
        mine = owner_of(name)
        return f"The name {name!r} is reserved for {mine[0] if mine else 'Pegboard'}, and {dists[0]} claims it.{choice}"
    if len(dists) == 1:
        outcome = "The earlier is used." if owner else "Neither is used."
        return f"{dists[0]} defines the tool {name!r} twice. {outcome} Give one of them another name."
    both, neither = ("both", "Neither") if len(dists) == 2 else ("all", "None of them")
    outcome = f"{owner.dist} is used." if owner else f"{neither} is used."
    if owner and owner.partition == "built-in":
        outcome = "The built-in is kept."
    return f"{' and '.join(dists)} {both} own the tool {name!r}. {outcome}{choice}"


def _drop_aliases(kept: list[Entry]) -> list[Notice]:
    """An alias that is the name of another tool, or a former name of a built-in, is removed from its tool."""
    notices = []
    names = {entry.name for entry in kept}
    taken: dict[str, Entry] = {}
    for entry in sorted(kept, key=lambda entry: (entry.partition != "built-in", entry.dist)):
        mine = []
        for alias in entry.record["aliases"]:
            reserved = alias in RESERVED and entry.partition != "built-in"
            if alias in names or alias in taken or reserved:
                notices.append(Notice(entry.dist, f"The alias {alias!r} of {entry.name} is taken, so it is not used."))
            else:
                taken[alias] = entry
                mine.append(alias)
        if mine != entry.record["aliases"]:
            record = entry.record.copy()
            record["aliases"] = mine
            entry.record = record
    return notices
