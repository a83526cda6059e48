"""The tool under test with everything its promises are checked on, made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pegboard import Facts, Input, Tool, ToolError
from pegboard.hosting import maybe_await, validate
from pegboard_testing.harness import Case, Example, Stand, stand
from pegboard_testing.strategies import invented
from pegboard_testing.watch import TookTooLongError, WatchedCall, inside, watch, within

INVENTED = 40
RUN = 6
"""How many invented inputs are looked at, and how many of them are run."""
PATIENCE = 30.0
"""Seconds that all runs of a tool together may take."""


class BrokenPromiseError(Exception):
    """A sentence about what a tool does and should not."""


class ToolUnderTest:
    """A tool, the examples of its author, and inputs invented from its schema."""

    def __init__(
        self, tool: Tool[Any, Any], examples: Sequence[Example] = (), settings: Mapping[str, Any] | None = None
    ) -> None:
        self.tool, self.examples, self.case = tool, list(examples), Case(tool, settings or {})

    @cached_property
    def given(self) -> list[dict[str, Any]]:
        """The inputs that the examples come to."""
        return within(PATIENCE, self._given) if self.examples else []

    async def _given(self) -> list[dict[str, Any]]:
        async with stand(self.case) as place:
            return [await place.input(example) for example in self.examples]

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """Examples first, then inventions; each fits the schema, which does not mean that the tool takes it."""
        return self.given + [made for made in invented(self.tool, INVENTED) if made not in self.given]

    @cached_property
    def accepted(self) -> list[tuple[dict[str, Any], Input]]:
        """The inputs that the tool takes, as it takes them."""
        return list(self._accepted())

    def _accepted(self) -> Iterator[tuple[dict[str, Any], Input]]:
        for given in self.inputs:
            try:
                args, _ = validate(self.tool.name, self.tool.input, given)
            except ToolError:
                continue
            if self.tool.validate_input(args) is None:
                yield given, args

    @cached_property
    def runs(self) -> list[WatchedCall]:
        """What was seen when the tool ran. Invented input is run only where the facts say that it stays in the tree."""
        chosen: list[Example] = [*self.examples, *within(PATIENCE, self._harmless)]
        if not chosen:
            raise BrokenPromiseError(
                f"{self.tool.name} was not run: its facts say that it is open-world or destructive, or no valid "
                f"input could be generated. Add inputs that are harmless in a temporary folder: "
                f"assert_contract(tool, examples=[...]), or the hook pytest_pegboard_examples in conftest.py."
            )
        try:
            return within(PATIENCE, self._watch_all, chosen)
        except TookTooLongError:
            raise BrokenPromiseError(
                f"{self.tool.name} did not answer {len(chosen)} calls in {PATIENCE:g} s."
            ) from None
        except Exception as error:
            raise BrokenPromiseError(
                f"{self.tool.name} made the test kit fail: {type(error).__name__}: {error}"
            ) from error

    async def _harmless(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async with stand(self.case) as place:
            for given, args in self.accepted:
                if given not in self.given and await self._stays(args, place):
                    found.append(given)
        return found[:RUN]

    async def _stays(self, args: Input, place: Stand) -> bool:
        try:
            facts: Facts = await maybe_await(self.tool.facts(args, place.ctx))
            return isinstance(facts, Facts) and inside(facts, place.folder)
        except Exception:
            return False  # The promise about facts reports it.

    async def _watch_all(self, chosen: list[Example]) -> list[WatchedCall]:
        return [await watch(self.case, example) for example in chosen]

    @property
    def acted(self) -> list[WatchedCall]:
        """The runs that reached the tool."""
        return [ran for ran in self.runs if ran.acted]
