"""The conversation of a session: its messages, the ids of its calls, and announcements for the next message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import JSON
from pegboard_session.cleared_results import drop_thinking
from pegboard_session.deferred_tools import ToldReminders, deferred_reminder
from pegboard_session.history import Block, as_message, call_ids, portable
from pegboard_session.model_tools import cache_breakpoints
from pegboard_session.providers import CachePoints, Request
from pegboard_session.reminders import REMINDER, as_reminder, collect_reminders
from pegboard_session.restored import Restored

if TYPE_CHECKING:
    from pegboard_session.loop import Session


class Conversation:
    """The messages of a session, and what becomes a request. `ctx.service("conversation")` is one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.messages: list[dict[str, Any]] = []
        self.call_ids: set[str] = set()
        self.prompt = ""
        """What the person wrote last."""
        self.told = ToldReminders()
        self._news: list[str] = []
        self._definitions: tuple[Any, list[dict[str, Any]]] = (None, [])
        self._prefix: tuple[tuple[str, ...], list[dict[str, Any]]] | None = None
        """What the last request had before its messages; some models accept their thinking only after the same."""

    def announce(self, words: str) -> None:
        """Tell the model something with its next message, once: that work in the background has ended.

        If this session's agent has finished, its parent is told.
        """
        session = self._session
        # An agent that has finished makes no further request, so it could not be told.
        while session.parent and not session.is_running:
            session = session.parent
        session.conversation.add_news(words)
        session.write("news", text=words)
        session.emit("news", text=words)

    def add_news(self, words: str) -> None:
        """The same for this session only, and without a line in the transcript."""
        if words not in self._news:
            self._news.append(words)

    @property
    def has_news(self) -> bool:
        """Whether something was announced that the model has not been told yet. Reminders do not count."""
        return any(not words.startswith(REMINDER) for words in self._news)

    def is_untold(self, words: str) -> bool:
        """Whether exactly this was announced, here or for a parent to tell, and still waits for the next message."""
        session: Session | None = self._session
        while session is not None:
            if words in session.conversation._news:
                return True
            session = session.parent
        return False

    def remind(self, words: str) -> None:
        """Tell this session's model something with its next message, as a reminder and once."""
        self.add_news(as_reminder(words))

    def take_news(self, moment: str) -> list[Block]:
        """What the next user message says besides: announcements, each once, and the reminders of plugins."""
        told, self._news = self._news, []
        told += [words for words in collect_reminders(self._session, moment) if words not in told]
        told += deferred_reminder(self._session)
        if moment == "prompt" and (form := self._session.output.new_prompt(self._session.asking.is_held_to_schema)):
            told.append(as_reminder(form))
        return [{"type": "text", "text": words} for words in told]

    def hand_over(self) -> None:
        """Pass announcements that this session's finished agent has not seen to its parent."""
        left, self._news = self._news, []
        for words in left:
            self.announce(words)

    def go_on_from(self, restored: Restored) -> None:
        """Continue an earlier conversation. Blocks that only another provider understands are left out."""
        name = self._session.provider.name
        is_foreign = restored.provider and restored.provider != name
        messages = portable(restored.messages) if is_foreign else restored.messages
        self.messages = list(messages)
        self.call_ids = {found for message in messages for found in call_ids(message["content"])}
        self._news, self.prompt = list(restored.news), restored.last_prompt

    def append(self, role: str, content: Sequence[JSON]) -> None:
        """Add to the conversation; two messages of one role in a row become one."""
        blocks = as_message({"role": role, "content": content})["content"]
        if role == "assistant":
            self.call_ids.update(call_ids(blocks))
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1] = {"role": role, "content": [*self.messages[-1]["content"], *blocks]}
        else:
            self.messages.append({"role": role, "content": blocks})

    @property
    def answer_tokens(self) -> int:
        """How many tokens the next answer may have: what is wanted, as far as the model can."""
        session, profile = self._session, self._session.profile
        limits = (session.max_tokens, profile.max_output, profile.window and profile.window // 4)
        return min(limit for limit in limits if limit)

    def request(self) -> Request:
        """The next request: system prompt, tools and messages as they are now, and where a service may cache."""
        session, loaded, profile = self._session, self._session.ctx.loaded_tools, self._session.profile
        session.board.refresh()
        pool = session.tools.pool(profile)
        key = (pool, loaded)
        # Made once per pool: rendering every definition again for each request would be wasted work.
        if self._definitions[0] != key:
            self._definitions = (key, session.tools.definitions(profile, loaded))
        system = tuple(part.text for part in session.system_prompt.parts())
        # Such a model refuses its earlier thinking after a changed prompt or tool list, so it is dropped.
        if profile.binds_thinking and self._prefix != (system, self._definitions[1]):
            drop_thinking(self.messages)
        self._prefix = (system, self._definitions[1])
        return Request(
            session.model,
            tuple(self.messages),
            system,
            self._definitions[1],
            self.answer_tokens,
            session.options,
            CachePoints(cache_breakpoints(pool), system=True, last_message=True),
            session.asking.options,
            tuple(entry.name for entry in pool.fetched(loaded)),
        )
