"""A provider that plays a script: the same stream, with real timing, and no model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio

from pegboard import JSON, ProviderError
from pegboard.wording import counted
from pegboard_session.history import as_json
from pegboard_session.providers import (
    OpaqueBlock,
    ProviderEvent,
    Request,
    Stop,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolCall,
    Usage,
)

PIECE = 24
"""Text arrives in pieces of this many characters, as it does from a model."""
LONGEST_PAUSE = 600_000
FORMER_WORDS = {"model_context_window_exceeded": "context_overflow"}
"""What scripts said before reasons to stop had neutral names."""


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
        self.source, self.requests = source, list[Request]()
        self.children: list[ReplayProvider] = []
        """A player for each sub-agent, in the order in which they were started."""
        self._prefix = "replay"

    def for_agent(self, name: str, kind: str) -> ReplayProvider:
        """Who plays the turns of a sub-agent; in a script without agents, all share the same turns."""
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
        """Read a script: a JSON object on each line, each an assistant turn."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProviderError(f"The script {path} cannot be read: {reason}.", kind="script") from None
        turns = []
        for number, line in enumerate(text.split("\n"), 1):  # Not `splitlines`: a text may hold U+2028.
            if line.strip():
                try:
                    turns.append(json.loads(line))
                except RecursionError:
                    raise ProviderError(f"{path}:{number}: this is nested too deeply.", kind="script") from None
                except ValueError as error:
                    raise ProviderError(f"{path}:{number}: this is not valid JSON: {error}.", kind="script") from None
        return cls(turns, str(path))

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of the next turn."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self.turns):
            reason = f"{self.source} has {counted(len(self.turns), 'turn')}, but the session needs another. Add a turn."
            raise ProviderError(reason, kind="script")
        turn = self.turns[number]
        pause, content = turn.get("chunk_ms", 0) / 1000, turn["content"]
        yield Usage(input_tokens=0)
        for index, block in enumerate(content):
            if index and pause:
                await anyio.sleep(pause)
            for event in _events(block, f"{self._prefix}_{number}_{index}"):
                yield event
        if pause:
            await anyio.sleep(pause)
        yield Usage(others=turn.get("usage", {"output_tokens": 0}))
        calls = any(block["type"] == "tool_use" for block in content)
        reason = turn.get("stop_reason") or ("tool_use" if calls else "end_turn")
        yield Stop(FORMER_WORDS.get(reason, reason))


def _events(block: JSON, call_id: str) -> Iterator[ProviderEvent]:
    known = {"type", "text"} if block["type"] == "text" else {"type", "id", "name", "input"}
    extra = {key: value for key, value in block.items() if key not in known}
    if block["type"] == "text":
        yield from (TextDelta(piece) for piece in _pieces(block["text"]))
        yield TextEnd(extra)
    elif block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        yield ToolCall(block.get("id") or call_id, block["name"], text, extra)
    else:
        if block["type"] == "thinking" and isinstance(block.get("thinking"), str):
            yield from (ThinkingDelta(piece) for piece in _pieces(block["thinking"]))
        yield OpaqueBlock(block)


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _check(turn: Any, where: str) -> None:
    def wrong(what: str) -> ProviderError:
        return ProviderError(f"{where}: {what}", kind="script")

    content = turn.get("content") if isinstance(turn, dict) else None
    if not isinstance(content, list):
        raise wrong('expected {"content": [...]}.')
    if not isinstance(turn.get("agent", ""), str):
        raise wrong("agent must be the name or kind of a sub-agent.")
    for block in content:
        if fault := _fault_of(block):
            raise wrong(fault)
    pause = turn.get("chunk_ms", 0)
    if isinstance(pause, bool) or not isinstance(pause, (int, float)) or not 0 <= pause <= LONGEST_PAUSE:
        raise wrong(f"chunk_ms must be a number of milliseconds up to {LONGEST_PAUSE}.")
    if not isinstance(turn.get("stop_reason", ""), str | None):
        raise wrong("stop_reason must be text.")
    usage = turn.get("usage", {})
    if not isinstance(usage, dict) or not all(isinstance(number, int) for number in usage.values()):
        raise wrong("usage must be an object of whole numbers.")


def _fault_of(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return "every block needs a type."
    if kind == "text" and not isinstance(block.get("text"), str):
        return "a text block needs text."
    if kind == "tool_use" and not (isinstance(block.get("name"), str) and isinstance(block.get("input"), dict)):
        return "a tool_use block needs a name and an input object."
    if kind == "tool_use" and not isinstance(block.get("id", ""), str):
        return "the id of a tool_use block must be text."
    if kind == "tool_result":
        return "a model does not write tool_result blocks."
    try:
        as_json(block)
    except ValueError as error:
        return f"a block cannot be played: {error}."
    return ""
