"""The live view on a terminal: what is running in parallel, for how long, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text

from pegboard_cli.output import visible
from pegboard_cli.views import View

MARKS = {"ok": ("✓", "green"), "failed": ("✗", "red"), "denied": ("⊘", "yellow")}


class Running:
    """A call on the screen."""

    def __init__(self, label: str) -> None:
        self.label, self.began, self.progress = label, time.monotonic(), ""
        self.spinner = Spinner("dots")


class LiveView(View):
    """Text as it is written, finished calls as lines, running calls with spinners below."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(file=self.out, highlight=False)
        self.running: dict[str, Running] = {}
        self.writing = ""
        self.live = self._new_live()

    def _new_live(self) -> Live:
        return Live(get_renderable=self._below, console=self.console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def on_text_written(self, text: str) -> None:
        """The model writes; whole lines go up, the rest stays below."""
        self.writing += text
        *lines, self.writing = self.writing.split("\n")
        for line in lines:
            self.console.print(Text(visible(line)))

    def on_message_finished(self, **data: Any) -> None:
        """The model has ended a message."""
        self._lift()

    def on_call_requested(self, id: str, name: str, input: dict[str, Any]) -> None:
        """The model has written a call; what it said before stands above it."""
        self._lift()
        super().on_call_requested(id, name, input)

    def on_call_started(self, id: str, name: str) -> None:
        """A call is being handled."""
        self.running[id] = Running(self.inputs.get(id, name))

    def on_call_progress(self, id: str, message: str, **rest: Any) -> None:
        """A sign of life."""
        if id in self.running:
            self.running[id].progress = visible(message)

    def on_call_finished(self, id: str, name: str, decision: str, is_error: bool, ms: float, said: str) -> None:
        """A call has its result."""
        self.running.pop(id, None)
        kind = "denied" if decision == "deny" else "failed" if is_error else "ok"
        mark, style = MARKS[kind]
        label = escape(visible(self.inputs.pop(id, name)))
        self.console.print(f"[{style}]{mark}[/] {label} [dim]{ms:.0f} ms[/]")
        first = next(iter(said.strip().splitlines()), "")
        if first:
            self.console.print(Text(f"    {visible(first)[:120]}", style="dim"))

    def say(self, line: str) -> None:
        """A line about what happens."""
        self.console.print(Text(visible(line), style="yellow"))

    def say_of_agent(self, line: str) -> None:
        """A line about what a sub-agent does; what it does now stands below."""
        if self._prompting:
            self.console.print()
        self.console.print(Text(visible(line), style="dim"))
        if self._prompting:
            self.show_prompt()

    @contextmanager
    def prompt(self) -> Generator[None, None, None]:
        """Wait for a prompt, with nothing moving below it."""
        with self._still(), super().prompt():
            yield

    @contextmanager
    def question(self) -> Generator[None, None, None]:
        """Make room for a question, with nothing moving below it."""
        with self._still(), super().question():
            yield

    @contextmanager
    def _still(self) -> Generator[None, None, None]:
        self.live.stop()
        try:
            yield
        finally:
            self.live = self._new_live()  # The old one would wipe as many lines of the talk as it last had itself.
            self.live.start()

    def show_prompt(self) -> None:
        """Say that it is the person's turn."""
        self.out.write("\x1b[1m>\x1b[0m ")
        self.out.flush()

    def _lift(self) -> None:
        if self.writing:
            self.console.print(Text(visible(self.writing)))
            self.writing = ""

    def _below(self) -> RenderableType:
        rows: list[RenderableType] = [Text(visible(self.writing))] if self.writing else []
        for call in list(self.running.values()):
            seconds = time.monotonic() - call.began
            progress = f"  {call.progress[:60]}" if call.progress else ""
            call.spinner.update(text=Text(f"{visible(call.label)[:90]}  {seconds:.1f} s{progress}"))
            rows.append(call.spinner)
        rows += [Text(f"  {visible(row)}", style="cyan") for row in self.agents.rows()]
        return Group(*rows)
