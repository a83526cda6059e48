"""A provider that plays a script: the same stream, with real timing, and no model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import anyio

from pegboard.calls import JSON
from pegboard.errors import ProviderError

PIECE = 24
"""Text and inputs arrive in pieces of this many characters, as they do from a model."""


class ReplayProvider:
    """Answers the n-th request with the n-th turn of its script.

    Turns with an `agent` belong to the sub-agents of that name or kind; each agent plays them from their beginning.
    """

    name = "replay"

    def __init__(self, turns: Sequence[JSON], source: str = "the script") -> None:
        for number, turn in enumerate(turns, 1):
            _check(turn, f"{source}, turn {number}")
        self.script = turns
        self.turns: Sequence[JSON] = [turn for turn in turns if "agent" not in turn]
        self.source, self.requests = source, list[JSON]()
        self.children: list[ReplayProvider] = []
        """A player for each sub-agent, in the order in which they were started."""
        self._prefix = "replay"

    def for_agent(self, name: str, kind: str) -> ReplayProvider:
        """Who plays the turns of a sub-agent; in a script that knows no agents everybody plays on where it stands."""
        whose = [word for word in (name, kind) if word and any(turn.get("agent") == word for turn in self.script)]
        if not whose and len(self.turns) == len(self.script):
            return self
        child = ReplayProvider(self.script, self.source)
        child.turns = [turn for turn in self.script if whose and turn.get("agent") == whose[0]]
        child.source = f"{self.source} for the agent {name or kind}"
        child._prefix = f"{self._prefix}_{len(self.children)}"
        self.children.append(child)
        return child

    @classmethod
    def from_file(cls, path: str | Path) -> ReplayProvider:
        """Read a script: a JSON object a line, each an assistant turn."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ProviderError(f"The script {path} cannot be read: {error}.", kind="script") from None
        turns = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    turns.append(json.loads(line))
                except ValueError as error:
                    raise ProviderError(f"{path}:{number}: this is not valid JSON: {error}.", kind="script") from None
        return cls(turns, str(path))

    async def stream(self, request: JSON) -> AsyncGenerator[JSON, None]:
        """The events of the next turn."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self.turns):
            reason = f"{self.source} has {len(self.turns)} turns, and the session asks for another. Add a turn."
            raise ProviderError(reason, kind="script")
        turn = self.turns[number]
        pause = turn.get("chunk_ms", 0) / 1000
        yield {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 0}}}
        for index, block in enumerate(turn["content"]):
            if index and pause:
                await anyio.sleep(pause)
            for event in _events(index, block, f"{self._prefix}_{number}_{index}"):
                yield event
        stop = "tool_use" if any(block["type"] == "tool_use" for block in turn["content"]) else "end_turn"
        if pause:
            await anyio.sleep(pause)
        reason = turn.get("stop_reason", stop)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason},
            "usage": turn.get("usage", {"output_tokens": 0}),
        }
        yield {"type": "message_stop"}


def _events(index: int, block: JSON, call_id: str) -> list[dict[str, Any]]:
    if block["type"] == "text":
        start: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    elif block["type"] == "tool_use":
        start = {"type": "tool_use", "id": block.get("id", call_id), "name": block["name"], "input": {}}
        text = json.dumps(block["input"], ensure_ascii=False)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text)]
    else:
        start, deltas = dict(block), []
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _check(turn: Any, place: str) -> None:
    content = turn.get("content") if isinstance(turn, dict) else None
    if not isinstance(content, list):
        raise ProviderError(f'{place}: expected {{"content": [...]}}.', kind="script")
    if not isinstance(turn.get("agent", ""), str):
        raise ProviderError(f"{place}: agent must be the name or kind of a sub-agent.", kind="script")
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and not isinstance(block.get("text"), str):
            raise ProviderError(f"{place}: a text block needs a text.", kind="script")
        if kind == "tool_use" and not (isinstance(block.get("name"), str) and isinstance(block.get("input"), dict)):
            raise ProviderError(f"{place}: a tool_use block needs a name and an input object.", kind="script")
        if not isinstance(kind, str):
            raise ProviderError(f"{place}: every block needs a type.", kind="script")
    if not isinstance(turn.get("chunk_ms", 0), (int, float)) or turn.get("chunk_ms", 0) < 0:
        raise ProviderError(f"{place}: chunk_ms must be a number of milliseconds.", kind="script")
