"""What tokens cost. Prices come from settings or from the provider; none is built in: it would soon be outdated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from pegboard import Settings

MILLION = 1_000_000
KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


@dataclass(frozen=True, slots=True)
class Price:
    """The prices of one model, for a million tokens of each kind, in whatever currency they were given in."""

    by_kind: Mapping[str, Decimal]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Price:
        """From the numbers of a setting; by way of their text, because 0.1 is meant and not its nearest float."""
        return cls({KINDS[name]: Decimal(str(given[name])) for name in KINDS})

    def cost(self, usage: Mapping[str, int]) -> Decimal:
        """What an answer cost."""
        return sum((each * usage.get(kind, 0) for kind, each in self.by_kind.items()), Decimal(0)) / MILLION


def price_of(model: str, settings: Settings, provider: object) -> Price | None:
    """The price of a model: the setting `prices`, then what the provider says in `prices`; None where it is unknown.

    A name may end in `*`; the exact one counts first, then the longest.
    """
    for table in (settings.get("prices", {}), getattr(provider, "prices", {})):
        fitting = [name for name in table if name == model or (name.endswith("*") and fnmatchcase(model, name))]
        if fitting:
            return Price.of(table[max(fitting, key=lambda name: (name == model, len(name)))])
    return None
