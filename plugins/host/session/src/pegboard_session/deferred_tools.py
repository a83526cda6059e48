"""Tell the model which tools it can fetch: their names in a reminder, again whenever they have changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pegboard import JSON
from pegboard.hosting import Entry, Pool
from pegboard.wording import counted
from pegboard_session.reminders import as_reminder

if TYPE_CHECKING:
    from pegboard_session.loop import Session

MOST_TOKENS = 4_000
CHARACTERS_A_TOKEN = 3
"""A careful guess for names: they are cut into more tokens than prose."""
OPENING = "Some tools are deferred: they exist, but their definitions are not loaded."
NONE = f"{OPENING[:-1]}. There are none left."


def deferred_reminder(session: Session) -> list[str]:
    """What the next user message says about deferred tools: nothing where the model knows it already.

    The conversation itself is asked what it says, so a resumed one is not told twice, and a compacted one again.
    """
    pool, told = session.tools.pool(session.profile), session.conversation.told.last(session.messages)
    words = describe_deferred(pool)
    if words:
        return [] if told == as_reminder(words) else [as_reminder(words)]
    return [as_reminder(NONE)] if told and told != as_reminder(NONE) else []


class ToldReminders:
    """Finds the last reminder about deferred tools in a conversation, and reads only the messages that are new."""

    def __init__(self) -> None:
        self._count, self._last = 0, ""
        self._ends: tuple[JSON | None, JSON | None] = (None, None)
        """The first and the last message that was read."""

    def last(self, messages: Sequence[JSON]) -> str:
        """The reminder, or nothing."""
        count, (first, latest) = self._count, self._ends
        # Compaction puts a new message first. A message that grows becomes a new one.
        if not 0 < count <= len(messages) or messages[0] is not first or messages[count - 1] is not latest:
            count, self._last = 0, ""
        self._last = last_told(messages[count:]) or self._last
        if messages:
            self._count, self._ends = len(messages), (messages[0], messages[-1])
        return self._last


def last_told(messages: Sequence[JSON]) -> str:
    """The last reminder about deferred tools in these messages."""
    beginning = as_reminder(OPENING).partition(OPENING[-1:])[0]
    for message in reversed(messages):
        if message["role"] == "user":
            for block in reversed(message["content"]):
                if block["type"] == "text" and block["text"].startswith(beginning):
                    return str(block["text"])
    return ""


def describe_deferred(pool: Pool) -> str:
    """The deferred tools by server or family; where the names are too many, how many each has. Empty for none."""
    deferred = [entry for entry in pool.entries if entry.deferred]
    if not deferred:
        return ""
    fetchers = " or ".join(entry.name for entry in pool.entries if entry.record["fetches_tools"])
    head = f"{OPENING} Fetch those you need with {fetchers}; then you can call them."
    groups: dict[str, list[Entry]] = {}
    for entry in deferred:
        groups.setdefault(entry.server, []).append(entry)
    named = _lines(f"- {server}: {', '.join(entry.name for entry in groups[server])}" for server in sorted(groups))
    if fits(text := f"{head} The names by server:\n{named}"):
        return text
    counts = [f"- {server}: {counted(len(groups[server]), 'tool')}" for server in sorted(groups)]
    head = f"{head} There are {len(deferred)}; the servers and how many tools each has:\n"
    if fits(text := head + _lines(counts)):
        return text
    largest = sorted(groups, key=lambda server: (-len(groups[server]), server))
    room, kept = MOST_TOKENS * CHARACTERS_A_TOKEN - len(as_reminder(head)) - 60, list[str]()
    for server in largest:
        line = f"- {server}: {counted(len(groups[server]), 'tool')}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        kept.append(line)
    return head + _lines([*sorted(kept), f"- and {counted(len(groups) - len(kept), 'server')} more"])


def fits(text: str) -> bool:
    """Whether a reminder is short enough."""
    return len(as_reminder(text)) <= MOST_TOKENS * CHARACTERS_A_TOKEN


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
