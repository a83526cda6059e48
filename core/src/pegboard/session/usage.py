"""What a session has cost: tokens by kind, and what each tool puts into the conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard.calls import Result

COUNTED = frozenset({"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})
"""The kinds of tokens that add up to what a conversation costs; others are parts of these."""


@dataclass(slots=True)
class ToolUse:
    """How often a tool was called and how much it said, in tokens of about four characters."""

    calls: int = 0
    errors: int = 0
    result_tokens: int = 0


@dataclass(slots=True)
class Usage:
    """Totals over all requests of a session."""

    requests: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    parent: Usage | None = field(default=None, repr=False, compare=False)
    """The usage of the session that started this one: whatever is counted here is counted there at the same moment."""
    on_add: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Told after each answer, so that a budget can end things."""

    def add(self, usage: Mapping[str, int]) -> None:
        """Count one answer."""
        self.requests += 1
        for name, number in usage.items():
            self.tokens[name] = self.tokens.get(name, 0) + number
        if self.parent:
            self.parent.add(usage)
        if self.on_add:
            self.on_add()

    def add_result(self, result: Result) -> None:
        """Count one result."""
        mine = self.tools.setdefault(result.name, ToolUse())
        mine.calls += 1
        mine.errors += result.is_error
        mine.result_tokens += -(-len(result.text) // 4)
        if self.parent:
            self.parent.add_result(result)

    @property
    def total_tokens(self) -> int:
        """All tokens that went in or came out, whatever their kind."""
        return sum(number for name, number in self.tokens.items() if name in COUNTED)

    def as_data(self) -> dict[str, Any]:
        """The totals as plain data."""
        tools = {
            name: {"calls": use.calls, "errors": use.errors, "result_tokens": use.result_tokens}
            for name, use in sorted(self.tools.items())
        }
        return {"requests": self.requests, **self.tokens, "tools": tools}
