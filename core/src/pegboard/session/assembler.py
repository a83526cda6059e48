"""Put a model's answer together from its events. A block counts only when it is complete."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pegboard.calls import JSON, Call

CUT = "cut_off"
"""A note of ours on a tool_use block whose input never became valid JSON; it is not sent back."""


class Assembler:
    """Feed it events; it hands back each content block at the moment it is complete."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.stop_reason: str | None = None
        self.usage: dict[str, int] = {}
        self.finished = False
        self._open: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def feed(self, event: JSON) -> dict[str, Any] | None:
        """Take one event; unknown kinds are passed over."""
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


def _parsed(text: str, block: dict[str, Any]) -> Any:
    if not text:
        return block["input"] or {}
    try:
        parsed = json.loads(text)
    except ValueError:
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
