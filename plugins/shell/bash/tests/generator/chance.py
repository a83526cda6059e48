"""Choices that depend on a seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

Made = TypeVar("Made")


class Chance(random.Random):
    """A source of choices. `depth` bounds how far commands nest."""

    depth = 0

    def often(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.random() < share

    def any(self, *options: str | Callable[[Chance], str]) -> str:
        """One of these; a function is asked to make it."""
        option = options[self.randrange(len(options))]
        return option if isinstance(option, str) else option(self)

    def some(self, make: Callable[[Chance], str], least: int, most: int, between: str = " ") -> str:
        """Several of a kind, one after the other."""
        return between.join(make(self) for _ in range(self.randint(least, most)))

    def of(self, options: Sequence[Made]) -> Made:
        """One element."""
        return options[self.randrange(len(options))]

    def deeper(self, make: Callable[[Chance], str], otherwise: str) -> str:
        """Something that nests; past the bound the plain form."""
        if self.depth >= 3:
            return otherwise
        self.depth += 1
        try:
            return make(self)
        finally:
            self.depth -= 1
