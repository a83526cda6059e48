"""What tokens cost. Prices come from the table of models: from settings, or from the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

MILLION = 1_000_000
KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


LONG = "longPrompt"
"""The key of other prices for requests above a number of tokens."""
PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True)
class Price:
    """The prices of one model, for a million tokens of each kind, in whatever currency they were given in."""

    by_kind: Mapping[str, Decimal]
    long_from: int | None = None
    """Prompts with more tokens than this cost `long`."""
    long: Mapping[str, Decimal] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Price:
        """From the numbers of a row; by way of their text, because 0.1 is meant and not its nearest float."""
        if LONG not in given:
            return cls(_by_kind(given))
        return cls(_by_kind(given), given[LONG]["above"], _by_kind(given[LONG]))

    def cost(self, usage: Mapping[str, int]) -> Decimal:
        """What an answer cost."""
        is_long = self.long_from is not None and sum(usage.get(kind, 0) for kind in PROMPT) > self.long_from
        prices = self.long if is_long and self.long is not None else self.by_kind
        return sum((each * usage.get(kind, 0) for kind, each in prices.items()), Decimal(0)) / MILLION


def _by_kind(given: Mapping[str, Any]) -> dict[str, Decimal]:
    return {KINDS[name]: Decimal(str(given[name])) for name in KINDS}
