"""Spans in memory, and a board with tools that end in every way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pegboard_files
import pegboard_processes
import pegboard_rules
import pegboard_telemetry
from pegboard import Board
from pegboard.settings import Layer, Settings
from pegboard_telemetry.tracer import LOOK_AGAIN

from .tools import TOOLS, Person

EXPORTER = InMemorySpanExporter()
"""One for all tests: a process can set its provider only once."""


class Spans:
    """The spans that have ended."""

    @property
    def all(self) -> list[ReadableSpan]:
        return list(EXPORTER.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span

    def parent(self, span: ReadableSpan) -> str:
        """The name of the span above, or nothing."""
        above = [other for other in self.all if span.parent and other.context.span_id == span.parent.span_id]
        return above[0].name if above else ""

    def path(self, span: ReadableSpan) -> list[str]:
        """The names from the root to this span."""
        known = {other.context.span_id: other for other in self.all}
        names = [span.name]
        while span.parent and span.parent.span_id in known:
            span = known[span.parent.span_id]
            names.insert(0, span.name)
        return names


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _provider() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    time.sleep(LOOK_AGAIN)  # A call in an earlier test may just have found no provider.


@pytest.fixture
def spans() -> Iterator[Spans]:
    EXPORTER.clear()
    yield Spans()
    EXPORTER.clear()


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def make_board(tmp_path: Any, person: Person) -> Callable[..., Board]:
    def make(settings: Any = None) -> Board:
        layers = Settings([Layer("user", "test", settings or {})], cwd=str(tmp_path))
        plugins = [pegboard_telemetry, pegboard_rules, pegboard_files, pegboard_processes, person]
        return Board(layers, [], plugins=plugins, tools=TOOLS, env={"HOME": str(tmp_path)})

    return make


@pytest.fixture
def board(make_board: Callable[..., Board]) -> Board:
    return make_board()
