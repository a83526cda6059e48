"""What the vendor's pages say about the models of the Messages API, in the shape of the setting `models`.

The rows of several names add up, the longest name last. Names of cloud services have more around the same words, so
every row begins and ends with `*`. Prices are in US dollars for a million tokens, as listed in November 2026.
"""

from __future__ import annotations

from typing import Any

TODO_TOOLS = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoWrite"]
"""Newer models keep track of their work without these."""

LARGE = {"window": 1_000_000, "maxOutput": 128_000}
ADAPTIVE = {"adaptive_thinking": True, "effort": True, "thinking_budget": False, "thinking_off": True}
ALWAYS_THINKS = {**ADAPTIVE, "thinking_off": False}


def _price(read: float, write: float, given: float, made: float) -> dict[str, float]:
    return {"input": given, "output": made, "cacheRead": read, "cacheWrite": write}


def _recent(supports: dict[str, bool], **more: Any) -> dict[str, Any]:
    """A row of a model that needs no to-do list."""
    return {**LARGE, "supports": supports, "tools": {"hide": TODO_TOOLS}, **more}


MODELS: dict[str, dict[str, Any]] = {
    # A model that is newer than this table: cautious limits, and the strictest rule for its thinking.
    "*claude-*": {
        "window": 200_000,
        "maxOutput": 64_000,
        "bindsThinking": True,
        "supports": {"thinking_between_tools": False},
    },
    "*claude-haiku-4-5*": {
        "bindsThinking": False,
        "supports": {"adaptive_thinking": False, "effort": False},
        "price": _price(0.1, 1.25, 1, 5),
    },
    "*claude-sonnet-4-5*": {
        "bindsThinking": False,
        "supports": {"adaptive_thinking": False, "effort": False},
        "price": _price(0.3, 3.75, 3, 15),
    },
    "*claude-opus-4-5*": {
        "bindsThinking": False,
        "supports": {"adaptive_thinking": False, "effort": True, "effort_xhigh": False, "effort_max": False},
        "price": _price(0.5, 6.25, 5, 25),
    },
    "*claude-sonnet-4-6*": {
        **LARGE,
        "bindsThinking": False,
        "supports": {"adaptive_thinking": True, "effort": True, "effort_xhigh": False},
        "price": _price(0.3, 3.75, 3, 15),
    },
    "*claude-opus-4-6*": {
        **LARGE,
        "bindsThinking": False,
        "supports": {"adaptive_thinking": True, "effort": True, "effort_xhigh": False},
        "price": _price(0.5, 6.25, 5, 25),
    },
    "*claude-opus-4-7*": {
        **LARGE,
        "bindsThinking": False,
        "supports": ADAPTIVE,
        "price": _price(0.5, 6.25, 5, 25),
    },
    "*claude-opus-4-8*": _recent(ADAPTIVE, bindsThinking=False, price=_price(0.5, 6.25, 5, 25)),
    "*claude-opus-5*": _recent(ADAPTIVE, bindsThinking=False, price=_price(0.5, 6.25, 5, 25)),
    "*claude-sonnet-5*": _recent(ADAPTIVE, bindsThinking=False, price=_price(0.2, 2.5, 2, 10)),
    "*claude-opus-5-5*": _recent(ALWAYS_THINKS, bindsThinking=True, price=_price(0.2, 5, 4, 20)),
    "*claude-sonnet-5-5*": _recent(
        {**ALWAYS_THINKS, "thinking_between_tools": True}, bindsThinking=True, price=_price(0.1, 2.5, 2, 10)
    ),
    "*claude-haiku-5-5*": _recent(
        ADAPTIVE,
        bindsThinking=True,
        price={**_price(0.01, 0.125, 0.1, 0.5), "longPrompt": {"above": 100_000, **_price(0.05, 0.625, 0.5, 2.5)}},
    ),
    "*claude-fable-5*": _recent(ALWAYS_THINKS, bindsThinking=True),
    "*claude-mythos-*": _recent(ALWAYS_THINKS, bindsThinking=True),
    "claude-opus-5-5": {"aliases": ["opus"]},
    "claude-sonnet-5-5": {"aliases": ["sonnet"]},
    "claude-haiku-5-5": {"aliases": ["haiku"]},
    "claude-fable-5-2": {"aliases": ["fable"]},
    "claude-mythos-5-2": {"aliases": ["mythos"]},
}
