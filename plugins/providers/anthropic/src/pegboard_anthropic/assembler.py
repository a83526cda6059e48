"""Convert the events of the Messages API to provider events; partial blocks are assembled here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pegboard import ProviderError
from pegboard_session import OpaqueBlock, ProviderEvent, Stop, TextDelta, TextEnd, ThinkingDelta, ToolCall, Usage

STOPS = {"model_context_window_exceeded": "context_overflow"}
"""Reasons to stop that have another name in neutral words."""
PRICED = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Assembler:
    """Takes events of the wire format and returns provider events."""

    def __init__(self) -> None:
        self._index: Any = None
        self._block: dict[str, Any] | None = None
        self._input: list[str] = []
        self._stop = "end_turn"

    def feed(self, event: Mapping[str, Any]) -> list[ProviderEvent]:
        """Take one event; unknown kinds are ignored. An invalid one is a `ProviderError`."""
        try:
            return self._take(event)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            reason = f"The answer contains an invalid event {event.get('type')!r}"
            raise ProviderError(f"{reason}: {type(error).__name__}: {error}.", kind="server", retryable=True) from error

    def _take(self, event: Mapping[str, Any]) -> list[ProviderEvent]:
        kind = event.get("type")
        if kind == "content_block_start":
            return self._begin(event["index"], event["content_block"])
        if kind == "content_block_delta" and self._is_open(event["index"]):
            return self._grow(event["delta"])
        if kind == "content_block_stop" and self._is_open(event["index"]):
            return [self._end()]
        if kind == "message_start":
            return _usage(event["message"].get("usage"))
        if kind == "message_delta":
            reason = event["delta"].get("stop_reason") or self._stop
            self._stop = STOPS.get(reason, reason)
            return _usage(event.get("usage"))
        return [Stop(self._stop)] if kind == "message_stop" else []

    def _is_open(self, index: Any) -> bool:
        return self._block is not None and index == self._index

    def _begin(self, index: Any, block: Mapping[str, Any]) -> list[ProviderEvent]:
        if self._block is not None:
            raise ValueError("it begins before the previous block has ended")
        if not isinstance(index, int) or not isinstance(block["type"], str):
            raise TypeError("a block needs a number and a type")
        self._index, self._block, self._input = index, dict(block), []
        text = block["text"] if block["type"] == "text" else ""
        return [TextDelta(_text(text))] if text else []

    def _grow(self, delta: Mapping[str, Any]) -> list[ProviderEvent]:
        """Add a delta to its block. Kinds we do not know are kept as they come, so that nothing is lost."""
        block, kind = self._block or {}, delta.get("type")
        if kind == "input_json_delta":
            self._input.append(_text(delta["partial_json"]))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        elif kind == "text_delta" and block["type"] == "text":
            return [TextDelta(_text(delta["text"]))]
        else:
            for key, value in delta.items():
                if key != "type":
                    block[key] = block.get(key, "") + value if isinstance(value, str) else value
        return [ThinkingDelta(_text(delta["thinking"]))] if kind == "thinking_delta" else []

    def _end(self) -> ProviderEvent:
        block, self._block = self._block or {}, None
        if block["type"] == "text":
            return TextEnd(_without(block, "type", "text"))
        if block["type"] == "tool_use":
            return self._call(block)
        if "input" in block:
            block["input"] = self._parsed(block["input"])
        return OpaqueBlock(block)

    def _call(self, block: dict[str, Any]) -> ToolCall:
        if not isinstance(block["input"], dict):
            raise TypeError("input of a tool_use block must be an object")
        text = "".join(self._input) or json.dumps(block["input"])
        return ToolCall(_text(block["id"]), _text(block["name"]), text, _without(block, "type", "id", "name", "input"))

    def _parsed(self, given: Any) -> Any:
        """The input of a block that the service itself acts on. One that was cut off is empty."""
        text = "".join(self._input)
        if not text:
            return given or {}
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return {}


def _usage(counts: Mapping[str, Any] | None) -> list[ProviderEvent]:
    given = dict(counts or {})
    if isinstance(searches := given.get("server_tool_use"), Mapping):  # How often the service itself searched.
        given |= searches
    known = {name: number for name, number in given.items() if isinstance(number, int)}
    if not known:
        return []
    priced = {name: known.pop(name) for name in PRICED if name in known}
    return [Usage(**priced, others=known)]


def _without(block: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in keys}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
