"""The tools of a board as one model gets them: some hidden, replaced, described differently, or deferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Profile, ToolCatalog
from pegboard.hosting import Absent, Entry, Pool, edited
from pegboard_session.deferral import DeferralPolicy
from pegboard_session.model_profile import ModelProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.hosting import Implementation
    from pegboard_session.boards import ToolBoard

LAYER = "model"


class ModelTools:
    """One view for listing and for calls: what the model is not shown it cannot call."""

    def __init__(self, board: ToolBoard, agent: str = "main") -> None:
        """`agent` is the kind of agent that the session is: settings may defer its tools differently."""
        self._board, self._agent = board, agent
        self._made: tuple[Pool, ModelProfile, Pool] | None = None

    def pool(self, profile: ModelProfile) -> Pool:
        """The board's tools at this moment, without those that the model does not get; some are deferred."""
        pool = self._board.pool
        if self._made is None or self._made[0] is not pool or self._made[1] is not profile:
            policy = DeferralPolicy.of(self._board.settings, self._agent, profile.window)
            given = _without(pool, profile) if profile.hidden_tools or profile.swapped_tools else pool
            self._made = (pool, profile, given.deferring(policy.deferred(given)))
        return self._made[2]

    def definitions(self, profile: ModelProfile, loaded: Sequence[str]) -> list[dict[str, Any]]:
        """What a request lists, in the words that the model is to read."""
        return edited(self.pool(profile), (*self._board.hooks.edit_definition, _reword), profile, loaded)

    def catalog(
        self, hooks: Callable[[str], Sequence[Implementation]], profile: Callable[[], ModelProfile]
    ) -> ToolCatalog:
        """The same tools for tools that look for tools."""
        return ToolCatalog(lambda: self.pool(profile()), hooks, profile, (_reword,))

    def refused(self, profile: ModelProfile) -> dict[str, str]:
        """The tools that the model does not get, by every name they go by, and why."""
        pool = self._board.pool
        reasons = ((entry, _refusal(entry, pool, profile)) for entry in pool.entries)
        return {name: why for entry, why in reasons if why for name in (entry.name, *entry.record["aliases"])}

    def deferred(self, profile: ModelProfile) -> frozenset[str]:
        """The tools that the model has to fetch to see them, by every name they go by."""
        waiting = (entry for entry in self.pool(profile).entries if entry.deferred)
        return frozenset(name for entry in waiting for name in (entry.name, *entry.record["aliases"]))


def _reword(definition: dict[str, Any], profile: Profile) -> dict[str, Any]:
    words = profile.reworded_tools if isinstance(profile, ModelProfile) else {}
    return {**definition, "description": words.get(definition["name"], definition["description"])}


def _without(pool: Pool, profile: ModelProfile) -> Pool:
    kept: list[Entry] = []
    absent = list(pool.absent)
    for entry in pool.entries:
        if reason := _refusal(entry, pool, profile):
            absent.append(Absent(entry.name, entry.dist, entry.family, LAYER, reason))
        else:
            kept.append(entry)
    return Pool(kept, absent, pool.notices, pool.version)


def _refusal(entry: Entry, pool: Pool, profile: ModelProfile) -> str:
    """Why a model does not get a tool. One whose replacement is not there stays."""
    name = entry.name
    other = profile.swapped_tools.get(name)
    if other and pool.get(other):
        return f"{name} is replaced by {other} for the model {profile.model}. Use {other}."
    return f"{name} is not offered to the model {profile.model}." if name in profile.hidden_tools else ""


def cache_breakpoints(pool: Pool) -> tuple[int, ...]:
    """The positions after which a provider may cache: end of the built-ins, end of the last partition.

    What was fetched comes after both and is not part of either.
    """
    partitions = [entry.partition for entry in pool.entries if not entry.deferred]
    ends = {len(partitions) - 1} if partitions else set[int]()
    if "built-in" in partitions:
        ends.add(partitions.count("built-in") - 1)
    return tuple(sorted(ends))
