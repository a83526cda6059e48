"""Which tools a sub-agent has. One function decides; listing, search and execution all look at what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.hosting import Absent, Entry, Pool
from pegboard.permission import name_matches, split_rule
from pegboard_agent.kinds import ALIASES

LAYER = "agent"
STARTERS = frozenset({"Agent", "Task"})
"""The tool of this plugin and its alias: in a list it may say which kinds of agents may be started."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What an agent may use, by name. Every list narrows; `None` narrows nothing."""

    agent: str
    """What the agent is called in refusals."""
    tools: tuple[tuple[str, ...], ...] = ()
    """Lists of tools, each of which has to name a tool that is kept: the definition's, then the call's."""
    disallowed: tuple[str, ...] = ()
    may_nest: bool = True
    depth_limit: int = 0
    is_main: bool = False
    """Whether a person talks to this agent: then it may have what speaks to the person."""

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of agents it may start, where a list says `Agent(kind, …)`; None for any."""
        allowed: frozenset[str] | None = None
        for names in self.tools:
            parsed = [split_rule(word) for word in names]
            inside = [found[1] for found in parsed if found and found[0] in STARTERS]
            if inside and None not in inside:
                named = (kind.strip() for one in inside for kind in (one or "").split(","))
                mine = frozenset(name for kind in named for name in (kind, ALIASES.get(kind, kind)))
                allowed = mine if allowed is None else allowed & mine
        return allowed


def child_pool(pool: Pool, choice: ToolChoice) -> Pool:
    """The parent's current tools as far as an agent may use them; every other tool is absent with the reason."""
    kept: list[Entry] = []
    absent = [gone for gone in pool.absent if pool.get(gone.name) is None]
    for entry in pool.entries:
        reason = _refusal(entry, choice)
        if reason is None:
            kept.append(entry)
        else:
            absent.append(Absent(entry.name, entry.dist, entry.family, LAYER, reason))
    return Pool(kept, absent, pool.notices, pool.version)


def unresolved(pool: Pool, words: Sequence[str]) -> list[str]:
    """The entries of a list that name no tool of this pool, each with the reason, as sentences."""
    said: list[str] = []
    for word in words:
        name = _tool_name(word)
        if name is None:
            said.append(f"{word!r} is not the name of a tool. To restrict what a tool may do, use permission rules.")
        elif not any(_names(name, entry) for entry in pool.entries):
            said.append(f"{word}: {pool.why_absent(name)}")
    return said


def fetched(pool: Pool, choice: ToolChoice) -> tuple[str, ...]:
    """The tools that a list names outright: their agent sees them from the start, if they are deferred too."""
    named = {word for names in choice.tools for word in names}
    return tuple(entry.name for entry in pool.entries if entry.name in named)


def joined(loaded: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Fetched tools in the order of fetching, each once."""
    return tuple(dict.fromkeys((*loaded, *more)))


def refusal(pool: Pool, asked: Pool, name: str) -> str | None:
    """Why the agent of `asked` must not call a tool of its parent's `pool`, worded for the name that was used."""
    entry = pool.get(name)
    if entry is None or asked.get(name) is not None:
        return None
    reason = next((gone.reason for gone in asked.absent if gone.name == entry.name and gone.layer == LAYER), "")
    if name != entry.name:
        reason = f"{name} is another name for {entry.name}. {reason}"
    if entry.deferred:
        reason = f"{reason} Fetching it first does not change that."
    return reason


def _refusal(entry: Entry, choice: ToolChoice) -> str | None:
    name, agent = entry.name, choice.agent
    if not entry.record["subagents"] and not choice.is_main:
        return f"{name} is never given to sub-agents, and this is {agent}."
    if name in STARTERS and not choice.may_nest:
        deep = f"agents can be nested at most {choice.depth_limit} deep"
        return f"{name} is not available to {agent}: {deep}. Do the work yourself."
    if any((word := _tool_name(item)) and _names(word, entry) for item in choice.disallowed):
        return f"{name} is among the disallowed tools of {agent}."
    for names in choice.tools:
        if not any((word := _tool_name(item)) and _names(word, entry) for item in names):
            return f"{name} is not among the tools of {agent}, which may use {', '.join(names) or 'none'}."
    return None


def _tool_name(word: str) -> str | None:
    """The name in an entry of a list. Only `Agent(kind)` may have parentheses: elsewhere they would promise a limit."""
    parsed = split_rule(word)
    if parsed is None or (parsed[1] is not None and parsed[0] not in STARTERS):
        return None
    return parsed[0]


def _names(word: str, entry: Entry) -> bool:
    return any(name_matches(word, known) for known in (entry.name, *entry.record["aliases"]))
