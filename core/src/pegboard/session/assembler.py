"""Put a model's answer together from its events. A block counts only when it is complete."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from secrets import token_hex
from typing import Any

from pegboard.calls import JSON, Call
from pegboard.errors import ProviderError
from pegboard.extensions import Provider

CUT = "cut_off"
"""A note of ours on a tool_use block whose input never became valid JSON; it is not sent back."""
NEVER_LAST = ("thinking", "redacted_thinking")

log = logging.getLogger("pegboard")


async def events_of(provider: Provider, request: JSON) -> AsyncGenerator[JSON, None]:
    """The events of an answer. A bug of the provider is a `ProviderError` too: what has run must not be forgotten."""
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


class Assembler:
    """Feed it events; it hands back each content block at the moment it is complete.

    Calls whose id is `taken` by an earlier one get another: two results for one id would make every later request
    impossible.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken, self._own = taken, set[str]()
        self.blocks: list[dict[str, Any]] = []
        self.stop_reason: str | None = None
        self.usage: dict[str, int] = {}
        self.finished = False
        self._open: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def feed(self, event: JSON) -> dict[str, Any] | None:
        """Take one event; unknown kinds are passed over. One that makes no sense is a `ProviderError`."""
        try:
            return self._take(event)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            kind = event.get("type") if isinstance(event, Mapping) else type(event).__name__
            reason = f"The answer holds an event {kind!r} that makes no sense: {type(error).__name__}: {error}."
            raise ProviderError(reason, kind="server", retryable=True) from error

    def _take(self, event: JSON) -> dict[str, Any] | None:
        kind = event.get("type")
        if kind == "content_block_start":
            self._open[event["index"]] = (dict(event["content_block"]), [])
        elif kind == "content_block_delta" and event["index"] in self._open:
            _grow(*self._open[event["index"]], event["delta"])
        elif kind == "content_block_stop" and event["index"] in self._open:
            return self._complete(*self._open.pop(event["index"]))
        elif kind == "message_start":
            self._count(event["message"].get("usage"))
        elif kind == "message_delta":
            self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.finished = True
        return None

    def _complete(self, block: dict[str, Any], parts: list[str]) -> dict[str, Any]:
        if "input" in block:
            block["input"] = _parsed("".join(parts), block)
        _require_shape(block)
        if block["type"] == "tool_use":
            if not block["id"] or block["id"] in self._taken or block["id"] in self._own:
                block["id"] = f"call_{token_hex(12)}"
            self._own.add(block["id"])
        self.blocks.append(block)
        return block

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        for name, number in (usage or {}).items():
            if isinstance(number, int):
                self.usage[name] = number


def _grow(block: dict[str, Any], parts: list[str], delta: JSON) -> None:
    """Add a delta to its block. Kinds we do not know are kept as they come, so that nothing is lost on the way back."""
    kind = delta.get("type")
    if kind == "input_json_delta":
        parts.append(delta["partial_json"])
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    else:
        for key, value in delta.items():
            if key != "type":
                block[key] = block.get(key, "") + value if isinstance(value, str) else value


SHAPES: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
}


def _require_shape(block: JSON) -> None:
    """Raise for a block that nobody could act on."""
    for key, kind in SHAPES.get(block["type"], {}).items():
        if not isinstance(block.get(key), kind):
            raise TypeError(f"{key} of a {block['type']} block must be {kind.__name__}")


def _parsed(text: str, block: dict[str, Any]) -> Any:
    if not text:
        return block["input"] or {}
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    block[CUT] = text
    return {}


def call_of(block: JSON) -> Call:
    """The call that a complete tool_use block asks for. A cut-off input is handed on as it came, and refused there."""
    return Call(block["id"], block["name"], block.get(CUT) or block["input"])


def for_history(block: JSON) -> dict[str, Any]:
    """The block as it goes back to the model."""
    return {key: value for key, value in block.items() if key != CUT}


def sendable(blocks: Sequence[JSON]) -> list[dict[str, Any]]:
    """The blocks that may stand in a message: none without words, and no thinking that led to nothing.

    The API refuses both. They are left behind when an answer is broken off, and would spoil every later request.
    """
    kept = [for_history(block) for block in blocks if block.get("type") != "text" or block["text"].strip()]
    while kept and kept[-1].get("type") in NEVER_LAST:
        kept.pop()
    return kept


def call_ids(blocks: Sequence[JSON]) -> list[str]:
    """The ids of the calls among these blocks."""
    return [block["id"] for block in blocks if block.get("type") == "tool_use"]
