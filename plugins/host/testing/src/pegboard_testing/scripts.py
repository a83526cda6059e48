"""A model that says what a test wrote down, for conversations through the real loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import anyio

from pegboard import Board
from pegboard_session import Outcome, ReplayProvider, Request, Session


@dataclass(frozen=True, slots=True)
class Played:
    """A conversation that was played."""

    outcome: Outcome
    results: list[dict[str, Any]]
    """What went back to the model, in the order of its calls: the `tool_result` blocks."""
    requests: list[Request]
    """Every request, as a provider gets it."""

    @property
    def texts(self) -> list[str]:
        """The text of each result."""
        return [_text(result["content"]) for result in self.results]


@dataclass
class ScriptedModel:
    """Write the turns of a model one by one, then `run` a session with it.

    Calls that follow each other directly belong to one turn; `says` ends it.
    """

    board: Board
    turns: list[dict[str, Any]] = field(default_factory=list)
    _open: list[dict[str, Any]] = field(default_factory=list)

    def calls(self, name: str, /, **arguments: Any) -> Self:
        """The model calls a tool."""
        self._open.append({"type": "tool_use", "name": name, "input": arguments})
        return self

    def then(self) -> Self:
        """The model waits for the results of its calls so far."""
        if self._open:
            self.turns.append({"content": self._open})
            self._open = []
        return self

    def says(self, text: str) -> Self:
        """The model answers in words, after it has seen the results of its calls so far."""
        self.then()
        self.turns.append({"content": [{"type": "text", "text": text}]})
        return self

    def run(self, prompt: str = "Go on.") -> Played:
        """Play the script through a real session on the test's board."""
        self.then()
        if any(block["type"] == "tool_use" for block in self.turns[-1]["content"]):
            self.says("Done.")
        provider = ReplayProvider(self.turns, "the test's script")
        return anyio.run(self._play, provider, prompt)

    async def _play(self, provider: ReplayProvider, prompt: str) -> Played:
        async with Session(self.board, provider, model="scripted") as session:
            outcome = await session.run(prompt)
        blocks = [block for message in session.messages if message["role"] == "user" for block in message["content"]]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        return Played(outcome, results, provider.requests)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")
