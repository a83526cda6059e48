"""Convert the chunks of the Chat Completions API to provider events; calls are put together here."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pegboard import ProviderError
from pegboard_openai.requests import REASONING
from pegboard_openai.web_search import ANNOTATIONS
from pegboard_session import OpaqueBlock, ProviderEvent, Stop, TextDelta, ThinkingDelta, ToolCall, Usage

STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
"""Reasons to stop in neutral words. Those about calls are not here: servers differ, and the calls themselves tell."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""What servers call a piece of the model's thinking."""


@dataclass(slots=True)
class _Call:
    """A call that grows."""

    index: Any
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def complete(self) -> ToolCall:
        if not self.name:
            raise ValueError("a call has no name")
        return ToolCall(self.id, self.name, "".join(self.arguments).strip() or "{}")


class Assembler:
    """Takes chunks and returns provider events. A call is complete when something else begins, or the answer ends."""

    def __init__(self) -> None:
        self._call: _Call | None = None
        self._done: set[Any] = set()
        self._called = False
        self._refused = False
        self._thought: tuple[str, list[str]] | None = None
        self._stop: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[ProviderEvent]:
        """Take one chunk; what is unknown in it is ignored. An invalid one is a `ProviderError`."""
        with _invalid_chunks_named():
            return [*self._choice(chunk), *_usage(chunk.get("usage"))]

    def end(self, *, told: bool) -> list[ProviderEvent]:
        """What is left when the server has closed the answer; `told` if it has said that this was all."""
        if self._stop is None and not told:
            raise ProviderError("The answer ended before it was complete.", kind="connection", retryable=True)
        with _invalid_chunks_named():
            made = self._finish_blocks()
        if self._refused:
            return [*made, Stop("refusal")]
        stopped = STOPS.get(self._stop or "stop", "end_turn")
        return [*made, Stop("tool_use" if self._called and stopped == "end_turn" else stopped)]

    def _choice(self, chunk: Mapping[str, Any]) -> list[ProviderEvent]:
        choices = [choice for choice in chunk.get("choices") or () if not choice.get("index")]
        if not choices:
            return []
        delta, made = choices[0].get("delta") or {}, list[ProviderEvent]()
        made += self._thinking(delta)
        for name in ("content", "refusal"):
            if words := delta.get(name):
                made += [*self._finish_blocks(), TextDelta(_text(words))]
                self._refused |= name == "refusal"
        if cited := delta.get("annotations"):
            made += [*self._finish_blocks(), OpaqueBlock({"type": ANNOTATIONS, "annotations": cited})]
        for piece in delta.get("tool_calls") or ():
            made += self._grow(piece)
        if reason := choices[0].get("finish_reason"):
            self._stop = _text(reason)
            made += self._finish_blocks()
        return made

    def _thinking(self, delta: Mapping[str, Any]) -> list[ProviderEvent]:
        for name in REASONING_FIELDS:
            if words := delta.get(name):
                if self._thought is None:
                    self._thought = (name, [])
                self._thought[1].append(_text(words))
                return [ThinkingDelta(words)]
        return []

    def _grow(self, piece: Mapping[str, Any]) -> list[ProviderEvent]:
        """Add a piece to its call. Some servers leave out the number of a call, others give all calls the same."""
        index, given = piece.get("index"), _text(piece.get("id") or "")
        call, made = self._call, list[ProviderEvent]()
        if call is None or index not in (None, call.index) or (given and call.id and given != call.id):
            if not given and index in self._done:
                raise ValueError("a call continues after another has begun")
            made = self._finish_blocks()
            call = self._call = _Call(index)
        call.id = call.id or given
        function = piece.get("function") or {}
        call.name = call.name or _text(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, (dict, list)):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if arguments:
            call.arguments.append(_text(arguments))
        return made

    def _finish_blocks(self) -> list[ProviderEvent]:
        """The thought and the call that were being written, now that something else has begun."""
        made: list[ProviderEvent] = []
        if self._thought is not None:
            (name, words), self._thought = self._thought, None
            made.append(OpaqueBlock({"type": REASONING, "field": name, "text": "".join(words)}))
        if self._call is not None:
            call, self._call = self._call, None
            self._done.add(call.index)
            whole = call.complete()
            if self._stop == "length" and not _is_json(whole.input):
                return made  # It was cut off in the middle; the reason to stop says so.
            self._called = True
            made.append(whole)
        return made


@contextmanager
def _invalid_chunks_named() -> Generator[None, None, None]:
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"The answer contains an invalid chunk: {type(error).__name__}: {error}."
        raise ProviderError(reason, kind="server", retryable=True) from error


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _usage(counts: Mapping[str, Any] | None) -> list[ProviderEvent]:
    """Tokens. The input contains what was read from a cache, which has a price of its own."""
    if not counts:
        return []
    cached = (counts.get("prompt_tokens_details") or {}).get("cached_tokens")
    thought = (counts.get("completion_tokens_details") or {}).get("reasoning_tokens")
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if isinstance(read, int) and isinstance(cached, int):
        read = max(read - cached, 0)
    others = {"reasoning_tokens": thought} if isinstance(thought, int) else {}
    return [Usage(_count(read), _count(written), cache_read_input_tokens=_count(cached), others=others)]


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
