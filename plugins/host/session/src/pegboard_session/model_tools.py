"""The tools of a board as one model gets them: some hidden, some replaced by others, some described differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard.hosting import Absent, Entry, Pool

if TYPE_CHECKING:
    from pegboard_session.boards import ToolBoard
    from pegboard_session.model_profile import ModelProfile

LAYER = "model"


class ModelTools:
    """One view for listing and for calls: what the model is not shown it cannot call."""

    def __init__(self, board: ToolBoard) -> None:
        self._board = board
        self._made: tuple[Pool, ModelProfile, Pool] | None = None

    def pool(self, profile: ModelProfile) -> Pool:
        """The board's tools at this moment, without those that the model does not get."""
        pool = self._board.pool
        if not profile.hidden_tools and not profile.swapped_tools:
            return pool
        if self._made is None or self._made[0] is not pool or self._made[1] is not profile:
            self._made = (pool, profile, _without(pool, profile))
        return self._made[2]

    def definitions(self, profile: ModelProfile, loaded: frozenset[str]) -> list[dict[str, Any]]:
        """What a request lists, in the words that the model is to read."""
        names, words = set(self.pool(profile).names), profile.reworded_tools
        listed = [made for made in self._board.definitions(profile, loaded) if made["name"] in names]
        return [{**made, "description": words.get(made["name"], made["description"])} for made in listed]

    def require(self, name: str, profile: ModelProfile) -> None:
        """Raise a `ToolError` for a tool that the model does not get."""
        entry = self._board.pool.get(name)
        if entry and (reason := _refusal(entry, self._board.pool, profile)):
            raise ToolError(reason, code="not_found", remedy="")


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
