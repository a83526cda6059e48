"""How many tokens a request has: a guess from its characters, corrected by what the service counted last time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pegboard import JSON
from pegboard_session.providers import Request

CHARACTERS = 3.5
"""How many characters a token has, as long as nothing has been counted."""
PICTURE = 1_600
PAGES = 8
"""How many characters of an encoded document are about one token."""
LEAST, MOST = 0.5, 4.0
"""How far what was counted may be from the guess; a service that counts otherwise is not believed."""
COUNTED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How full a model's window is."""

    tokens: int
    window: int | None = None
    """None if its size is not known."""

    @property
    def percent(self) -> int | None:
        """How much of the window is used."""
        return round(100 * self.tokens / self.window) if self.window else None


class ContextMeter:
    """Measures requests. Each answer makes the next guess better."""

    def __init__(self) -> None:
        self._ratio = 1.0
        self._guesses: dict[int, tuple[Mapping[str, Any], float]] = {}
        """What was guessed of each message; messages are replaced, never changed."""
        self._prefix: tuple[object, object, float] = (None, None, 0.0)
        self.counted: tuple[Request, Mapping[str, int]] | None = None
        """The last request and what the service counted of it. Compared when a size is next needed, not in between:
        calls of the answer run at that moment."""

    def size(self, request: Request) -> int:
        """How many tokens a request has."""
        return self.tokens(request.messages) + round(self._ratio * self._before_messages(request))

    def tokens(self, messages: Iterable[Mapping[str, Any]]) -> int:
        """How many tokens messages have."""
        self._learn()
        return round(self._ratio * self._guess(messages))

    def _learn(self) -> None:
        """Compare the guess with what the service has counted, if it has counted anew."""
        if self.counted is None:
            return
        (request, usage), self.counted = self.counted, None
        counted = sum(usage.get(kind, 0) for kind in COUNTED)
        guessed = self._guess(request.messages) + self._before_messages(request)
        if counted > 0 and guessed > 0:
            self._ratio = min(max(counted / guessed, LEAST), MOST)
        kept = {id(message) for message in request.messages}
        self._guesses = {key: known for key, known in self._guesses.items() if key in kept}

    def _guess(self, messages: Iterable[Mapping[str, Any]]) -> float:
        total = 0.0
        for message in messages:
            known = self._guesses.get(id(message))
            if known is None or known[0] is not message:
                known = self._guesses[id(message)] = (message, sum(guess(block) for block in message["content"]))
            total += known[1]
        return total

    def _before_messages(self, request: Request) -> float:
        if self._prefix[0] is not request.tools or self._prefix[1] != request.system:
            letters = len(json.dumps(list(map(dict, request.tools)), ensure_ascii=False)) + sum(
                map(len, request.system)
            )
            self._prefix = (request.tools, request.system, letters / CHARACTERS)
        return self._prefix[2]


def guess(block: JSON) -> float:
    """About how many tokens a block has, by its characters."""
    kind = block.get("type")
    if kind == "text":
        return len(block["text"]) / CHARACTERS + 4
    if kind == "tool_result":
        content = block.get("content", ())
        return 12 + (len(content) / CHARACTERS if isinstance(content, str) else sum(map(guess, content)))
    if kind == "image":
        return PICTURE
    if kind == "document":
        return len(json.dumps(block)) / PAGES
    return len(json.dumps(block, ensure_ascii=False)) / CHARACTERS + 4
