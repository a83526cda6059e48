"""How long a command may take and how much of its output is shown: by our settings, or by well-known variables."""

from __future__ import annotations

import os

from pegboard import Settings
from pegboard_bash.output import ON_SUCCESS

MOST_SHOWN = 38_000
"""What leaves room for remarks within the longest result of the tool."""


def default_timeout_ms(settings: Settings) -> int:
    """Milliseconds that a command may take if the model does not say."""
    return _chosen(settings, "bash.defaultTimeoutMs", "BASH_DEFAULT_TIMEOUT_MS")


def longest_timeout_ms(settings: Settings) -> int:
    """The most milliseconds that the model may allow."""
    return max(_chosen(settings, "bash.maxTimeoutMs", "BASH_MAX_TIMEOUT_MS"), default_timeout_ms(settings))


def shown_chars(settings: Settings) -> int:
    """How many characters of the output of a command that succeeded are shown; of one that failed, no more."""
    return min(_variable(settings, "BASH_MAX_OUTPUT_LENGTH") or ON_SUCCESS, MOST_SHOWN)


def _chosen(settings: Settings, key: str, variable: str) -> int:
    """Our own setting where it is set, else the variable, else the default."""
    if settings.holders(key):
        return int(settings.get(key))
    return _variable(settings, variable) or int(settings.get(key))


def _variable(settings: Settings, name: str) -> int:
    """The value of a variable in the setting `env` or in the environment; 0 where it is no number."""
    text = settings.get("env", {}).get(name) or os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
