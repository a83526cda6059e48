"""Keep a conversation within its model's window: old results are cleared first, then the older part is summarised.

Everything happens between two requests, when every call has its result. A summary counts only when it is complete and
written to the transcript; whatever goes wrong before that changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import ProviderError, Settings, SettingsError
from pegboard_session.cleared_results import clear_results, drop_thinking, put_in
from pegboard_session.completion import ProviderModel
from pegboard_session.context_size import ContextMeter, ContextUse
from pegboard_session.history import Block
from pegboard_session.summary import CONTINUE, as_record, compacted, cut_that_fits, find_cut, question, state_of

if TYPE_CHECKING:
    from pegboard_session.loop import Session

AT, KEEP = 80, 20
SUMMARY_TOKENS = 20_000
ENOUGH = 0.75
"""Clearing alone will do if it brings the conversation down to this share of the limit."""
PATIENCE = 0.05
"""How much of the window a conversation grows before a failed attempt is repeated."""
ATTEMPTS = 3
"""How often in a row a summary may fail before only a person asks for it again."""


NOT_FOR_SUMMARIES = ("tool_choice", "stop_sequences", "output_format")
"""Options of the session that would spoil a summary."""


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """When to compact, and how much stays as it is, in percent of the window."""

    automatic: bool = True
    at: int = AT
    keep: int = KEEP
    focus: str = ""

    @classmethod
    def of(cls, settings: Settings) -> CompactionRules:
        """What settings say. A `SettingsError` for shares that leave no room."""
        at, keep = settings.get("compaction.atPercent", AT), settings.get("compaction.keepPercent", KEEP)
        if at > 95 or keep * 2 > at:
            reason = f"compaction.atPercent may be at most 95, and twice compaction.keepPercent; got {at} and {keep}."
            holders = settings.holders("compaction.atPercent") or settings.holders("compaction.keepPercent")
            raise SettingsError(reason, source=holders[0].source if holders else "settings")
        return cls(settings.get("compaction.automatic", True), at, keep, settings.get("compaction.focus", ""))


@dataclass(frozen=True, slots=True)
class Compacted:
    """What came of the wish to compact a conversation."""

    done: bool
    why: str = ""
    """Why not; or that it is going to happen before the next request."""
    before: int = 0
    after: int = 0
    """Tokens of the next request."""


class Compaction:
    """Makes room in one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.rules = CompactionRules.of(session.board.settings)
        self.meter = ContextMeter()
        self._lock = anyio.Lock()
        self._wanted: str | None = None
        self._failures, self._failed_at = 0, 0
        self._prompt = ""
        self._overflowed_at: int | None = None

    @property
    def window(self) -> int | None:
        """How many tokens fit; after an overflow no more than did not fit then."""
        known = [size for size in (self._session.profile.window, self._overflowed_at) if size]
        return min(known) if known else None

    @property
    def use(self) -> ContextUse:
        """How full the window is."""
        return ContextUse(self._size(), self.window)

    @property
    def limit(self) -> int | None:
        """The size from which on room is made: a share of the window that leaves space for an answer."""
        window = self.window
        if window is None:
            return None
        # At most a quarter, or a model with a small window and a large answer limit could never hold a conversation.
        answer = min(self._session.conversation.answer_tokens, window // 4)
        return min(window * self.rules.at // 100, window - answer - window // 50)

    async def make_room(self) -> None:
        """Before a request: compact if that is requested, or if the conversation has grown too long."""
        if self._prompt is not self._session.conversation.prompt:  # After a new prompt, what failed may work.
            self._prompt, self._failures = self._session.conversation.prompt, 0
        async with self._lock:
            await self._make_room()

    async def _make_room(self) -> None:
        if self._wanted is not None:
            focus, self._wanted = self._wanted, None
            await self._summarise("manual", focus)
        limit = self.limit if self.rules.automatic else None
        if limit is None or (size := self._size()) < limit or self._session.is_interrupted:
            return
        # Do not pay for a summary that failed until the conversation has grown noticeably.
        if self._failures and (self._failures >= ATTEMPTS or size < self._failed_at + (self.window or 0) * PATIENCE):
            return
        await self._relieve(limit)

    async def relieve(self) -> bool:
        """After the service has said that a request was too long: whether it is shorter now."""
        if not self.rules.automatic or self._session.is_interrupted:
            return False
        before = self._size()
        # The service knows better than our table of models: what did not fit now will not fit later either.
        self._overflowed_at = min(before, self.window or before)
        limit = self.limit
        await self._relieve(limit if limit is not None else before)
        return self._size() < before

    async def after_overflow(self) -> list[Block]:
        """After an answer that ended because the window was full: how to go on, or nothing."""
        return [{"type": "text", "text": CONTINUE}] if await self.relieve() else []

    async def compact(self, what_to_keep: str = "") -> Compacted:
        """Summarise now, or before the next request while a prompt is being answered."""
        if self._session.is_running:
            self._wanted = what_to_keep
            return Compacted(False, "The conversation will be compacted before the next request.")
        self._session.interruption.reset()
        async with self._lock:  # A prompt that comes meanwhile waits with its request.
            return await self._summarise("manual", what_to_keep)

    async def _relieve(self, limit: int) -> None:
        session, messages = self._session, self._session.conversation.messages
        keep = (self.window or limit) * self.rules.keep // 100
        self._clear(find_cut(messages, keep, self.meter))
        if self._size() <= limit * ENOUGH:
            return
        # If keeping the recent messages leaves it too long, the second try summarises everything.
        for room in (keep, 0):
            done = await self._summarise("auto", "", room)
            if not done.done or self._size() < limit:
                break
        if self._size() >= limit:  # Only what is new is left: the model reads it in parts.
            self._clear(len(session.conversation.messages))

    def _clear(self, end: int) -> None:
        """Replace the large results before message `end` by notes, in the transcript first."""
        session, before = self._session, self._size()
        messages = session.conversation.messages
        notes = clear_results(messages, end, session.desk.results)
        if not notes:
            return
        # The transcript first: after a crash in between, the resumed conversation is the shorter one and still fits.
        session.write("cleared", notes=list(notes.values()))
        first = put_in(messages, notes)
        if session.profile.binds_thinking:
            drop_thinking(messages, first)
        self._forget_views()
        session.emit("results_cleared", results=len(notes), before=before, after=self._size())

    async def _summarise(self, trigger: str, focus: str, keep: int | None = None) -> Compacted:
        session, before = self._session, self._size()
        messages = session.conversation.messages
        if keep is None:  # It was requested: at least three quarters of what there is.
            share = (self.window or before) * self.rules.keep // 100
            keep = min(share, before // 4)
        cut = find_cut(messages, keep, self.meter)
        if not cut:
            return Compacted(False, "There is nothing to compact yet.", before, before)
        block, wishes, notes = await session.hooks.before_compact(session.ctx, trigger, focus)
        if block:
            return self._give_up(f"A hook kept the conversation from being compacted: {block}", before)
        summary, reason = "", ""
        with session.interruption.cancels():
            try:
                cut, summary = await self._ask(cut, [focus, self.rules.focus, *wishes])
            except ProviderError as error:
                reason = str(error)
            if summary:
                notes = [*notes, *await session.hooks.after_compact(session.ctx, trigger, summary)]
        if not summary or session.is_interrupted:
            reason = reason or ("It was interrupted." if session.is_interrupted else "The model gave no summary.")
            return self._give_up(f"The conversation could not be compacted: {reason}", before)
        messages = self._messages(cut, summary, notes)
        if trigger == "auto" and self.meter.tokens(messages) >= self.meter.tokens(session.conversation.messages):
            return self._give_up("The conversation could not be compacted: the summary is not shorter.", before)
        self._commit(messages, trigger, summary)
        after = self._size()
        session.emit("compacted", trigger=trigger, before=before, after=after, messages=cut)
        return Compacted(True, "", before, after)

    async def _ask(self, cut: int, focus: list[str]) -> tuple[int, str]:
        """The summary of as many messages as fit into one request, with the same beginning as every other request."""
        session, request = self._session, self._session.conversation.request()
        most = min(session.conversation.answer_tokens, SUMMARY_TOKENS)
        window = self.window or self._size() + 2 * most
        most = min(most, window // 4)
        room = window - most - self.meter.size(replace(request, messages=()))
        room -= room // 20 + min(1_000, window // 10)
        cut = cut_that_fits(request.messages, cut, room, self.meter)
        head = list(request.messages[:cut])
        asked = question(head, focus, longest=max(room, 1_000))
        if session.profile.binds_thinking and self.meter.tokens(head) > room:  # Something in it was shortened.
            drop_thinking(asked)
        options = {name: value for name, value in request.options.items() if name not in NOT_FOR_SUMMARIES}
        model = ProviderModel(session.provider, session.model, session.retries, session.account)
        budget = request.wanted.thinking_budget and min(request.wanted.thinking_budget, most // 2)
        wanted = replace(request.wanted, output_schema=None, stop_sequences=(), thinking_budget=budget)
        made = replace(request, messages=tuple(asked), max_tokens=most, options=options, wanted=wanted)
        answer = await model.answer(made)
        refused = answer.stop_reason in ("refusal", "context_overflow")
        return cut, "" if refused else answer.text.strip()

    def _messages(self, cut: int, summary: str, notes: list[str]) -> list[dict[str, Any]]:
        """The conversation as it would be after a summary of the messages before `cut`."""
        session = self._session
        tail = [dict(message) for message in session.conversation.messages[cut:]]
        if session.profile.binds_thinking:
            drop_thinking(tail)
        return compacted(summary, [state_of(session, tail), *notes], tail)

    def _commit(self, messages: list[dict[str, Any]], trigger: str, summary: str) -> None:
        """From here on the conversation is shorter. One line of the transcript decides, so no crash can halve it."""
        self._session.write("compacted", **as_record(messages, summary, trigger))
        self._session.conversation.messages[:] = messages
        self._forget_views()
        self._failures = 0

    def _give_up(self, reason: str, size: int) -> Compacted:
        self._failures, self._failed_at = self._failures + 1, size
        self._session.emit("notice", message=reason, data={})
        return Compacted(False, reason, size, size)

    def _forget_views(self) -> None:
        if files := self._session.ctx.services.files:
            files.forget_views()

    def _size(self) -> int:
        return self.meter.size(self._session.conversation.request())
