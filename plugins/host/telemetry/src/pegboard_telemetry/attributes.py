"""What spans say about requests, calls and decisions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import Span, StatusCode

from pegboard_telemetry import names

LONGEST = 8_000
"""How many characters of a content a span gets."""


def set_error(span: Span, kind: str) -> None:
    """Mark a span as failed. What went wrong in words may quote a content, so it is not there."""
    span.set_attribute(names.ERROR, kind)
    span.set_status(StatusCode.ERROR)


def call_attributes(name: str, call_id: str) -> dict[str, str]:
    """What a span says about a call from the beginning."""
    return {
        names.OPERATION: names.CALL_SPAN,
        names.TOOL: name,
        names.TOOL_TYPE: "function",
        names.CALL_ID: call_id,
    }


def decision_attributes(said: Mapping[str, Any]) -> dict[str, str]:
    """What a span says about a decision."""
    found = {
        names.DECISION: said["decision"],
        names.LAYER: said["layer"],
        names.RULE: said["rule"],
        names.SOURCE: said["source"],
    }
    return {name: str(value) for name, value in found.items() if value}


def usage_attributes(usage: Mapping[str, Any]) -> dict[str, int]:
    """Tokens in the words of the conventions, where the input contains what was cached."""
    cached = {
        names.CACHE_READ: usage.get("cache_read_input_tokens"),
        names.CACHE_CREATION: usage.get("cache_creation_input_tokens"),
    }
    found = {name: number for name, number in cached.items() if isinstance(number, int)}
    if isinstance(given := usage.get("input_tokens"), int):
        found[names.INPUT_TOKENS] = given + sum(found.values())
    if isinstance(made := usage.get("output_tokens"), int):
        found[names.OUTPUT_TOKENS] = made
    return found


def content_of(value: Any) -> str:
    """A content as an attribute: JSON, cut where it is too long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
