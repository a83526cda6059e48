"""The hooks of a session: it opens, a prompt arrives, the model is about to stop, it closes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from pegboard import JSON, After, Context, Progress, ProviderError, Result
from pegboard.hosting import maybe_await
from pegboard_session.boards import ToolBoard
from pegboard_session.hookspecs import Compacting, EventAnswer, Prompted

FAREWELL = 5.0
"""Seconds that `end_session` hooks have together when a session is broken off."""

REFUSALS = {"submit_prompt": Prompted, "hear_event": EventAnswer}
"""What a failed hook is taken to have said, where it could have prevented something."""

log = logging.getLogger("pegboard")


class HookCalls:
    """Fires the hooks of a session. Without implementations, nothing is awaited."""

    def __init__(self, board: ToolBoard, *, of_agent: bool = False) -> None:
        self._board, self._hooks, self._of_agent = board, board.hooks, of_agent

    async def start(self, ctx: Context, session_id: str, source: str, transcript: Path | None) -> list[dict[str, Any]]:
        """What the model reads before the first prompt."""
        if self._of_agent:
            return _texts(await self._answers("start_agent", ctx, transcript))
        return _texts(await self._answers("start_session", ctx, session_id, source, transcript))

    async def prompt(self, ctx: Context, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Why a prompt is not taken, or else what the model reads after it."""
        said: list[Prompted] = await self._answers("submit_prompt", ctx, text)
        refusal = next((answer.block for answer in said if answer.block), "")
        return refusal, _texts(answer.context for answer in said)

    async def stop(self, ctx: Context, text: str, transcript: Path | None) -> list[dict[str, Any]]:
        """What is left to do for a model that would stop."""
        if self._of_agent:
            return _texts(await self._answers("before_agent_stop", ctx, text, transcript))
        return _texts(await self._answers("before_stop", ctx, text))

    async def turn(self, ctx: Context, results: Sequence[Result]) -> tuple[list[dict[str, Any]], str]:
        """What the model reads after the results of a turn, and why the conversation ends, if it does."""
        said: list[After] = await self._answers("after_turn", ctx, results)
        return _texts(answer.context for answer in said), next((answer.stop for answer in said if answer.stop), "")

    async def failed(self, ctx: Context, error: ProviderError) -> None:
        """Tell that the model could not be asked."""
        await self._answers("prompt_failed", ctx, error)

    async def before_compact(self, ctx: Context, trigger: str, focus: str) -> tuple[str, list[str], list[str]]:
        """Why a conversation is not compacted, or else what the summary is to keep, and what is kept as it is."""
        said: list[Compacting] = await self._answers("before_compact", ctx, trigger, focus)
        refusal = next((answer.block for answer in said if answer.block), "")
        return refusal, [answer.focus for answer in said], [answer.context for answer in said]

    async def after_compact(self, ctx: Context, trigger: str, summary: str) -> list[str]:
        """What the model reads after the summary."""
        return [text for text in await self._answers("after_compact", ctx, trigger, summary) if text]

    async def event(self, ctx: Context, name: str, about: Mapping[str, Any], *, is_bare: bool) -> EventAnswer:
        """What plugins say to something that happens besides calls and prompts."""
        if not self._hooks.hear_event:
            return EventAnswer()
        seen = replace(self._board.equip(ctx), on_progress=self._show) if is_bare else ctx
        said: list[EventAnswer] = await self._asked("hear_event", seen, (name, about))
        answer: dict[str, Any] = {}
        for heard in reversed(said):
            answer.update(heard.answer)
        context = "\n".join(heard.context for heard in said if heard.context)
        return EventAnswer(next((heard.block for heard in said if heard.block), ""), context, answer)

    async def end(self, ctx: Context, session_id: str, reason: str, *, broken_off: bool) -> None:
        """Let plugins clean up; for a cancelled session, within a short time limit."""
        if not self._hooks.end_session:
            return
        with anyio.move_on_after(FAREWELL if broken_off else None, shield=broken_off):
            await self._answers("end_session", ctx, session_id, reason)

    async def _answers(self, name: str, ctx: Context, *given: object) -> list[Any]:
        """All answers that are not None."""
        if not getattr(self._hooks, name):
            return []
        return await self._asked(name, replace(self._board.equip(ctx), on_progress=self._show), given)

    async def _asked(self, name: str, seen: Context, given: Sequence[object]) -> list[Any]:
        """A hook that fails is logged; one that could have prevented something does."""
        answers = list[Any]()
        for hook in getattr(self._hooks, name):
            try:
                answer = await maybe_await(hook(*given, seen))
            except Exception as error:
                log.exception("a %s hook failed", name)
                refuse = REFUSALS.get(name)
                answer = refuse(f"A {name} hook failed: {type(error).__name__}.") if refuse else None
            if answer is not None:
                answers.append(answer)
        return answers

    def _show(self, progress: Progress) -> None:
        self._hooks.emit("notice", message=progress.message, data=dict(progress.data))


def _texts(words: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in words if text]


def text_of(content: Sequence[JSON]) -> str:
    """The words of a prompt, without its pictures and documents."""
    return "\n".join(block["text"] for block in content if block.get("type") == "text")
