"""Old results leave the conversation first: each is saved, and a short note says where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import JSON, Text
from pegboard_session.history import NEVER_LAST, Block

if TYPE_CHECKING:
    from pegboard.hosting import ResultsStore

LEAST = 1_000
"""Results with fewer characters stay: the note would not be much shorter."""
PICTURE = 6_000
"""What a picture or document counts as, in characters."""
Messages = list[dict[str, Any]]


def clear_results(messages: Sequence[JSON], end: int, store: ResultsStore) -> dict[str, Block]:
    """The notes for large results before message `end`, by the id of their call. Nothing in `messages` changes."""
    names = {
        block["id"]: block["name"]
        for message in messages[:end]
        for block in message["content"]
        if block["type"] == "tool_use"
    }
    made: dict[str, Block] = {}
    for message in messages[:end]:
        for block in message["content"]:
            if block["type"] == "tool_result" and _size(block) > LEAST:
                name = names.get(block["tool_use_id"], "a tool")
                if note := _note(block, name, store):
                    made[block["tool_use_id"]] = {**block, "content": [{"type": "text", "text": note}]}
    return made


def put_in(messages: Messages, notes: dict[str, Block]) -> int:
    """Replace results by their notes. Returns the position of the first message that changed, or the end."""
    first = len(messages)
    for place, message in enumerate(messages):
        content = [notes.get(block.get("tool_use_id", ""), block) for block in message["content"]]
        if content != message["content"]:
            messages[place] = {**message, "content": content}
            first = min(first, place)
    return first


def drop_thinking(messages: Messages, start: int = 0) -> None:
    """Take the thinking out of messages from `start` on: it was about a conversation that is no longer the same."""
    for place in range(start, len(messages)):
        content = messages[place]["content"]
        if any(block["type"] in NEVER_LAST for block in content):
            kept = [block for block in content if block["type"] not in NEVER_LAST]
            messages[place] = {**messages[place], "content": kept}


def _size(block: JSON) -> int:
    parts = block.get("content", ())
    return sum(len(part["text"]) if part["type"] == "text" else PICTURE for part in parts)


def _note(block: JSON, name: str, store: ResultsStore) -> str:
    """The note that replaces a result; empty if its text could not be saved."""
    texts = [Text(part["text"]) for part in block["content"] if part["type"] == "text"]
    others = len(block["content"]) - len(texts)
    size, words = sum(len(text.text) for text in texts), list[str]()
    if size:
        fitted = store.fit(texts, 0, name, block["tool_use_id"])
        path = next((found for text in fitted if (found := getattr(text, "path", None))), None)
        if path is None:
            return ""
        words.append(f"This old result of {name} ({size:,} characters) was removed to save space.")
        words.append(f"It is saved in full in {path}: read the parts you need, or search it.")
    if others:
        words.append(f"A picture or document in this old result of {name} was removed to save space.")
        words.append("Make the call again if you need to see it.")
    return f"[{' '.join(words)}]"
