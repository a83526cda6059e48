"""Which tools a model has to fetch before it sees them, so that hundreds of definitions do not fill its window."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard import Entry, Pool, Settings

DEFERRABLE = ("dynamic", "third-party")
"""The partitions that can be deferred, the first one first. Built-in tools always stay."""
USUAL_WINDOW = 200_000
"""The context window that is assumed where it is not known, in tokens."""


class DeferralPolicy:
    """`off`, `auto` (above a share of the context window, or a number of tools) or `always`; some tools are pinned."""

    __slots__ = ("mode", "percent", "pinned", "tools", "window")

    def __init__(
        self,
        mode: str = "auto",
        *,
        percent: int = 10,
        tools: int = 50,
        pinned: Sequence[str] = (),
        window: int | None = None,
    ) -> None:
        self.mode, self.percent, self.tools, self.pinned = mode, percent, tools, tuple(pinned)
        self.window = window or USUAL_WINDOW

    @classmethod
    def of(cls, settings: Settings, agent: str = "main", window: int | None = None) -> DeferralPolicy:
        """What settings say for this kind of agent and a model with this context window."""
        get = settings.get
        by_agent = {"main": get("deferral.mode"), **get("deferral.agents", {})}
        return cls(
            by_agent.get(agent, by_agent["main"]),
            percent=get("deferral.percent"),
            tools=get("deferral.tools"),
            pinned=get("deferral.pinned", ()),
            window=window,
        )

    def deferred(self, pool: Pool) -> frozenset[str]:
        """The names of the tools to defer.

        Whether third-party tools are deferred depends on the built-in and third-party tools alone: what comes and
        goes at run time never changes the list before it.
        """
        if self.mode not in ("auto", "always") or not can_fetch(pool):
            return frozenset()
        names: set[str] = set()
        left = pool.entries
        for partition in DEFERRABLE:
            if self.mode == "auto" and not self._is_too_much(left):
                break
            names |= {entry.name for entry in left if entry.partition == partition and not self._is_pinned(entry)}
            left = [entry for entry in left if entry.partition != partition]
        return frozenset(names)

    def _is_too_much(self, entries: Sequence[Entry]) -> bool:
        if len(entries) > self.tools:
            return True
        return sum(entry.tokens for entry in entries) * 100 > self.window * self.percent

    def _is_pinned(self, entry: Entry) -> bool:
        record = entry.record
        if record["pinned"] or record["fetches_tools"]:
            return True
        if not self.pinned:
            return False
        from fnmatch import fnmatchcase  # It brings `re`: 9 ms, where bare Python starts in 15.

        return any(fnmatchcase(name, pattern) for pattern in self.pinned for name in (entry.name, *record["aliases"]))


def can_fetch(pool: Pool) -> bool:
    """Whether any tool of the pool fetches deferred ones. Where none does, nothing may be deferred."""
    return any(entry.record["fetches_tools"] for entry in pool.entries)
