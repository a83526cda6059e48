"""The contract as a list: each promise has a name, a sentence, and a check that can fail."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pegboard import Tool
from pegboard_testing import call_checks as acts
from pegboard_testing import promises
from pegboard_testing.case import PATIENCE, BrokenPromiseError, ToolUnderTest
from pegboard_testing.harness import Example
from pegboard_testing.overlap import concurrency
from pegboard_testing.watch import TookTooLongError

PROMISES: dict[str, Callable[[ToolUnderTest], None]] = {
    "prompt": promises.prompt,
    "schema": promises.schema,
    "stable-definition": promises.stable,
    "unknown-key": promises.unknown_key,
    "wrong-type": promises.wrong_type,
    "null": promises.null,
    "secrets": promises.secrets,
    "facts": promises.facts,
    "answers": acts.answers,
    "output": acts.output,
    "size": acts.size,
    "input-kept": acts.input_kept,
    "read-only": acts.read_only,
    "declared-writes": acts.writes,
    "event-loop": acts.event_loop,
    "cancellation": acts.cancellation,
    "timeout": acts.timeout,
    "concurrency": concurrency,
}
"""In the order in which they are checked; the docstring of each check is the promise in words."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that a tool does not keep."""

    tool: str
    promise: str
    reason: str

    def __str__(self) -> str:
        return f"{self.tool} breaks the promise {self.promise!r} ({promise_in_words(self.promise)}) {self.reason}"


def promise_in_words(name: str) -> str:
    """The sentence of a promise."""
    return " ".join((PROMISES[name].__doc__ or "").split())


def check(subject: ToolUnderTest, name: str) -> Broken | None:
    """Check one promise."""
    try:
        with _quiet():
            PROMISES[name](subject)
    except BrokenPromiseError as error:
        return Broken(subject.tool.name, name, str(error))
    except TookTooLongError:
        return Broken(
            subject.tool.name, name, f"It could not be checked within {PATIENCE:g} s because the tool does not finish."
        )
    return None


def broken_promises(
    tool: Tool[Any, Any], *, examples: Sequence[Example] = (), settings: Mapping[str, Any] | None = None
) -> list[Broken]:
    """Check every promise and return those that are not kept."""
    _require_a_tool(tool)
    subject = ToolUnderTest(tool, examples, settings)
    found = [check(subject, name) for name in PROMISES]
    return [broken for broken in found if broken]


def _require_a_tool(given: object) -> None:
    if isinstance(given, Tool):
        return
    remedy = "Pass what @tool returned, or an instance."
    if isinstance(given, type) and issubclass(given, Tool):
        remedy = f"Pass an instance: {given.__name__}()."
    raise TypeError(f"The contract applies to a tool, not to {given!r}. {remedy}")


def assert_contract(
    tool: Tool[Any, Any], *, examples: Sequence[Example] = (), settings: Mapping[str, Any] | None = None
) -> None:
    """Fail unless the tool keeps every promise. Call it from a plain `def` test.

    Inputs are invented from the schema. They are run only where the tool's facts say that a call stays in the
    temporary folder; a tool that reaches outside needs `examples`, inputs that are harmless to run there.
    An example may also be a function that gets the context of a fresh session, makes what the call needs, such as a
    background task, and returns the input.
    `settings` are those under which it runs, such as `{"permissions": {"allow": ["Fetch(domain:localhost)"]}}`.
    """
    __tracebackhide__ = True
    if broken := broken_promises(tool, examples=examples, settings=settings):
        raise AssertionError("\n".join(map(str, broken)))


@contextmanager
def _quiet() -> Generator[None, None, None]:
    """Bugs that the kit provokes are reported as broken promises; their tracebacks would bury the report."""
    log = logging.getLogger("pegboard")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
