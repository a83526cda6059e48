"""What an agent may call, for tools that look for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.extensions import Profile
from pegboard.pool.entries import edited_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.pool.entries import Edit, Entry, Pool


class ToolCatalog:
    """The tools of one agent and model as they are now. `ctx.service("tools")` is one.

    What a filter, a rule or an agent's definition takes away is not in its pool.
    """

    def __init__(
        self,
        pool: Callable[[], Pool],
        hooks: Callable[[str], Sequence[Callable[..., Any]]],
        profile: Callable[[], Profile] = Profile,
        edits: Sequence[Edit] = (),
    ) -> None:
        """`edits` change definitions after those of hooks."""
        self._pool, self._hooks, self._profile, self._edits = pool, hooks, profile, edits

    @property
    def pool(self) -> Pool:
        """The tools that can be called; `Entry.deferred` says which of them have to be fetched to be listed."""
        return self._pool()

    def definitions(self, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        """What a request would list for these tools, after every `edit_definition`."""
        edits, profile = (*self._hooks("edit_definition"), *self._edits), self._profile()
        return [edited_definition(entry, edits, profile) for entry in entries]

    def hooks(self, name: str) -> Sequence[Callable[..., Any]]:
        """Who implements a hook that your distribution specifies, in order."""
        return self._hooks(name)
