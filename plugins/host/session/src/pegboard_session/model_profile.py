"""What is known about one model: its window, its limits, what it supports, what it costs, and the tools it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard import Profile
from pegboard_session.prices import Price

FEATURES = {
    "tools": "tool calls",
    "images": "pictures",
    "documents": "PDF documents",
    "adaptive_thinking": "thinking as much as it finds useful",
    "thinking_budget": "thinking with a token budget",
    "thinking_off": "answering without thinking",
    "thinking_between_tools": "thinking only between calls",
    "effort": "an effort level",
    "effort_xhigh": "the effort xhigh",
    "effort_max": "the effort max",
    "structured_output": "answers that follow a JSON schema",
    "context_management": "clearing and compaction by the service",
    "stop_sequences": "stop sequences",
    "speed": "a faster mode",
    "service_tier": "a service tier",
}
"""The features that a table may say something about, each in words for a message."""


@dataclass(frozen=True, slots=True)
class ModelProfile(Profile):
    """One model as the table has it. Hooks get it as their `profile`."""

    window: int | None = None
    """How many tokens a request and its answer may have together; None if not known."""
    max_output: int | None = None
    """How many tokens an answer may have; None if not known."""
    features: Mapping[str, bool] = field(default_factory=dict)
    price: Price | None = None
    binds_thinking: bool = False
    """Whether thinking can be sent back only as long as nothing before it has changed."""
    hidden_tools: frozenset[str] = frozenset()
    """Tools that this model is not given."""
    swapped_tools: Mapping[str, str] = field(default_factory=dict)
    """Tools that another one replaces for this model: `{"Edit": "ApplyPatch"}`."""
    reworded_tools: Mapping[str, str] = field(default_factory=dict)
    """Descriptions that this model reads instead of the tools' own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How the model is asked where settings do not say it, under the names of the settings."""

    def supports(self, feature: str) -> bool:
        """Whether a request may use a feature. Only what the table denies is not supported: services may know more."""
        return self.features.get(feature, True)
