"""Check what enters a conversation: everything in it must be valid on disk and for a model."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

from pegboard import JSON, Call, Result, tool_result
from pegboard_session.providers import ToolCall

DEEPEST = 200
"""How deep values may be nested; JSON parsers refuse more. Writing and reading need some levels of their own."""

Block = dict[str, Any]
SHAPES: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
}
NEVER_LAST = ("thinking", "redacted_thinking")


def as_json(value: Any, depth: int = 0) -> Any:
    """A copy that is plain JSON. A `ValueError` names what JSON cannot carry."""
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} is not a number in JSON")
        return value
    if isinstance(value, Mapping):
        made: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {key!r} is not text")
            made[key] = as_json(item, depth + 1)
        return made
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1) for item in value]
    raise ValueError(f"a value of the type {type(value).__name__} is not valid in JSON")


def as_block(given: Any) -> Block:
    """A block as it may be in a message. A `ValueError` says what is wrong with it."""
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise ValueError("a block must be an object with a type")
    for key, kind in SHAPES.get(given["type"], {}).items():
        if not isinstance(given.get(key), kind):
            raise ValueError(f"{key} in a {given['type']} block must be {kind.__name__}")
    if given["type"] == "tool_result":
        _require_content(given.get("content", []))
        if not all(isinstance(name, str) for name in _as_list(given.get("fetched", []))):
            raise ValueError("fetched in a tool_result block must be a list of tool names")
    block: Block = as_json(given)
    return block


def _as_list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise ValueError("content and fetched in a tool_result block must be lists")
    return given


def _require_content(content: Any) -> None:
    """What a result may hold: a list of blocks that are no calls or results themselves."""
    for block in _as_list(content):
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise ValueError("a block must be an object with a type")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise ValueError("text in a text block must be str")


def as_message(given: JSON) -> dict[str, Any]:
    """A message of a conversation that comes from outside."""
    return {"role": given["role"], "content": [as_block(block) for block in given["content"]]}


def read_call(event: ToolCall, id: str) -> tuple[Block, Call]:
    """The block of a call for the history, and the call itself. An input that is no JSON object is refused later."""
    block = {"type": "tool_use", "id": id, "name": event.name, "input": {}, **event.extra}
    # Some services send nothing at all for a call without arguments.
    text: str = event.input or "{}"
    given: Any = None
    try:
        given = json.loads(text)
        block["input"] = as_json(given) if isinstance(given, dict) else {}
    except RecursionError:
        pass
    except ValueError:
        if isinstance(given, dict):
            text = _spelled_out(given, text)
    return as_block(block), Call(id, event.name, text)


def _spelled_out(given: Any, text: str) -> str:
    """An input that is refused later: 1e999 is valid JSON but is read as infinity, which is not."""
    try:
        return json.dumps(given, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def result_block(result: Result) -> Block:
    """The block that answers a call; it names the tools that the call has fetched."""
    block = tool_result(result)
    if result.change and result.change.loaded_tools and not result.is_error:
        block["fetched"] = list(result.change.loaded_tools)
    return block


def sendable(blocks: Sequence[JSON]) -> list[Block]:
    """The blocks that may be in a message: none that is empty, and no thinking without a result.

    Services refuse both. They are left behind when an answer is broken off, and would spoil every later request.
    """
    kept = [dict(block) for block in blocks if block.get("type") != "text" or block["text"].strip()]
    # A loop: several such blocks may follow each other at the point where the answer stopped.
    while kept and kept[-1].get("type") in NEVER_LAST:
        kept.pop()
    return kept


def portable(messages: Sequence[JSON]) -> list[dict[str, Any]]:
    """The messages without what only the provider that wrote them understands."""
    known: Collection[str] = (*SHAPES, "image", "document")
    kept = [{**sent, "content": [b for b in sent["content"] if b["type"] in known]} for sent in messages]
    return [message for message in kept if message["content"]]


def call_ids(blocks: Sequence[JSON]) -> list[str]:
    """The ids of the calls among these blocks."""
    return [block["id"] for block in blocks if block.get("type") == "tool_use"]
