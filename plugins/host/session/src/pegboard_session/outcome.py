"""How a prompt was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ENDINGS = {"max_tokens": "max_tokens", "refusal": "refusal", "context_overflow": "context_overflow"}
"""Reasons of a provider to stop that are more than an end."""


FINISHED = "finished"
"""Under this name the metadata of a result holds the last words on a prompt: a tool that sets it ends the prompt."""


def finished(words: str) -> dict[str, str]:
    """The metadata with which a tool ends the prompt: `Output(value, metadata=finished("The last words."))`."""
    return {FINISHED: words}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a prompt was answered."""

    text: str
    stopped_by: str
    """`end` or `completed`, or why not: `max_turns`, `token_budget`, `cost_budget`, `time_budget`, `interrupted`,
    `max_tokens`, `refusal`, `context_overflow`, `blocked`, `hook` or `invalid_output`.

    A prompt is `completed` when a tool ends it: then `text` is what that tool says of it.
    A prompt that a hook keeps back is `blocked`; a conversation that one ends is stopped by `hook`: then `text` is why.
    """
    turns: int
    value: Any = None
    """The answer as data, where the session has an output schema and the answer follows it."""

    @property
    def is_success(self) -> bool:
        """Whether the model has ended it, and nothing else has."""
        return self.stopped_by in ("end", "completed")
