"""Put a model's answer together from the events of its provider. A block counts only when it is complete."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from pegboard import Call, ProviderError
from pegboard_session.history import SHAPES, Block, as_block, read_call
from pegboard_session.providers import (
    OpaqueBlock,
    Provider,
    ProviderEvent,
    Request,
    Stop,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolCall,
    Usage,
)

log = logging.getLogger("pegboard")


async def events_of(provider: Provider, request: Request) -> AsyncGenerator[ProviderEvent, None]:
    """The events of an answer. A bug in the provider becomes a `ProviderError` too, so that calls that ran are kept."""
    try:
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                yield event
    except ProviderError:
        raise
    except Exception as error:
        log.exception("the provider %s failed", provider.name)
        reason = f"The provider {provider.name} failed because of a bug: {type(error).__name__}."
        raise ProviderError(reason, kind="server") from error


@dataclass(frozen=True, slots=True)
class Complete:
    """A block that is complete, and the call that it asks for, if it is one."""

    block: Block
    call: Call | None = None


class Answer:
    """Feed it events; it hands back each content block at the moment it is complete.

    Calls whose id is `taken` by an earlier one get another: two results for one id would make every later request
    impossible.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken, self._own = taken, set[str]()
        self.blocks: list[Block] = []
        self.stop_reason: str | None = None
        self.usage: dict[str, int] = {}
        self._text: list[str] = []

    @property
    def finished(self) -> bool:
        """Whether the provider has said that this is all."""
        return self.stop_reason is not None

    @property
    def text(self) -> str:
        """The text of the complete blocks."""
        return "".join(block["text"] for block in self.blocks if block["type"] == "text")

    def feed(self, event: ProviderEvent) -> list[Complete]:
        """Process one event. An invalid one is a `ProviderError`."""
        try:
            done = self._take(event)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            kind = type(event).__name__
            reason = f"The answer contains an invalid event {kind}: {type(error).__name__}: {error}."
            raise ProviderError(reason, kind="server", retryable=True) from error
        self.blocks += [complete.block for complete in done]
        return done

    def _take(self, event: ProviderEvent) -> list[Complete]:
        if self.finished and not isinstance(event, Usage):
            raise ValueError("it comes after the end of the answer")
        if isinstance(event, TextDelta):
            self._text.append(_require_text(event.text))
        elif isinstance(event, ThinkingDelta):
            _require_text(event.text)
        elif isinstance(event, Usage):
            self._count(event.counts())
        elif isinstance(event, TextEnd):
            return self._close_text(event.extra)
        elif isinstance(event, ToolCall):
            return [*self._close_text(), self._call(event)]
        elif isinstance(event, OpaqueBlock):
            return [*self._close_text(), Complete(_opaque(event))]
        elif isinstance(event, Stop):
            done = self._close_text()
            self.stop_reason = _require_text(event.reason) or "end_turn"
            return done
        else:
            raise TypeError("providers must yield the events of pegboard_session")
        return []

    def _close_text(self, extra: Mapping[str, Any] | None = None) -> list[Complete]:
        """The text so far as a block. Nothing but an end makes one without words: other providers may not know it."""
        if not self._text and extra is None:
            return []
        block = as_block({"type": "text", "text": "".join(self._text), **(extra or {})})
        self._text = []
        return [Complete(block)]

    def _call(self, event: ToolCall) -> Complete:
        taken = not _require_text(event.id) or event.id in self._taken or event.id in self._own
        _require_text(event.input)
        block, call = read_call(event, f"call_{token_hex(12)}" if taken else event.id)
        self._own.add(call.id)
        return Complete(block, call)

    def _count(self, counts: Mapping[str, int]) -> None:
        for name, number in counts.items():
            if isinstance(number, int):
                self.usage[name] = number


def _opaque(event: OpaqueBlock) -> Block:
    block = as_block(event.data)
    if block["type"] in SHAPES:
        raise ValueError(f"a {block['type']} block has its own event type")
    return block


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
