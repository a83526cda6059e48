"""The live view on a terminal: what is running in parallel, for how long, and what came of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from pegboard import Call, Context, Tool, hookimpl
from pegboard.hosting import validate
from pegboard.wording import counted
from pegboard_cli.output import visible
from pegboard_cli.remedies import without_remedy
from pegboard_cli.views import View

log = logging.getLogger("pegboard")

RESULT_LINES = 12
"""How many lines of a result stay on the screen; the model has them all."""
MARKS = {"ok": ("✓", "green"), "failed": ("✗", "red"), "denied": ("⊘", "yellow")}


class Running:
    """A call on the screen."""

    def __init__(self, label: str) -> None:
        self.label, self.began = label, time.monotonic()
        self.progress, self.tail = "", list[str]()
        self.spinner = Spinner("dots")


class LiveView(View):
    """Text as it is written, finished calls as lines, running calls with spinners below."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(file=self.out, highlight=False)
        self.running: dict[str, Running] = {}
        self.writing = self.thinking = ""
        self._rendered: dict[str, list[RenderableType]] = {}
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

    def on_text_written(self, text: str, **rest: Any) -> None:
        """The model writes; whole lines go up, the rest stays below."""
        self._lift_thinking()
        self.writing += text
        *lines, self.writing = self.writing.split("\n")
        for line in lines:
            self.console.print(Text(visible(line)))

    def on_thinking_written(self, text: str, **rest: Any) -> None:
        """The model thinks: dimmed, line by line."""
        self._lift_text()
        self.thinking += text
        *lines, self.thinking = self.thinking.split("\n")
        for line in lines:
            self.console.print(Text(visible(line), style="dim italic"))

    def on_message_finished(self, **data: Any) -> None:
        """The model has ended a message."""
        self._lift()

    def on_call_requested(self, id: str, name: str, input: dict[str, Any], **rest: Any) -> None:
        """The model has written a call; what it said before is shown above it."""
        self._lift()
        super().on_call_requested(id, name, input)
        if self.board:
            try:
                tool = self.board.find(name).tool
                args, _ = validate(tool.name, tool.input, input)
                self.inputs[id] = tool.describe(args)
            except Exception:  # The input is shown as the model wrote it; the call will say what is wrong with it.
                log.debug("%s could not be described", name, exc_info=True)

    def on_call_started(self, id: str, name: str, **rest: Any) -> None:
        """A call is being handled."""
        self.running[id] = Running(self.inputs.get(id, name))

    def on_call_progress(self, id: str, message: str, data: Mapping[str, Any] | None = None, **rest: Any) -> None:
        """A sign of life, and for a command the last lines of its output."""
        if call := self.running.get(id):
            tail = str((data or {}).get("tail", ""))
            call.progress, call.tail = ("", tail.splitlines()) if tail else (message, [])

    @hookimpl(priority=1000)
    def after_call(self, tool: Tool[Any, Any], call: Call, value: Any, ctx: Context) -> None:
        """Keep how the tool shows its result, as other hooks have left it, until the call is over."""
        if ctx.agent.depth:
            return  # Of sub-agents only lines are shown.
        try:
            rendered = tool.render_result(value)
            if rendered is not None:
                self._rendered[call.id] = self._result_rows(rendered)  # type: ignore[arg-type]
        except Exception:  # A picture that cannot be drawn must not cost the model its result.
            log.debug("the result of %s could not be rendered", tool.name, exc_info=True)

    def on_call_finished(
        self, id: str, name: str, decision: str, is_error: bool, ms: float, said: str, **rest: Any
    ) -> None:
        """A call has its result."""
        self.running.pop(id, None)
        kind = "denied" if decision == "deny" else "failed" if is_error else "ok"
        mark, style = MARKS[kind]
        label = visible(self.inputs.pop(id, name))
        rows: list[RenderableType] = [Text.assemble((f"{mark} ", style), label, (f" {ms:.0f} ms", "dim"))]
        rendered = self._rendered.pop(id, None)
        if rendered is not None and kind == "ok":
            rows += rendered
        elif first := next(iter(without_remedy(said.strip()).splitlines()), ""):
            rows.append(Text(f"    {visible(first)[:120]}", style="dim"))
        self.live.refresh()  # Otherwise what is printed pushes up the row of a call that is over.
        self.console.print(Group(*rows))

    def _result_rows(self, rendered: RenderableType) -> list[RenderableType]:
        """The first lines of a result as its tool shows it; nothing in it may steer the terminal."""
        options = self.console.options.update_width(max(self.console.width - 4, 20))
        lines = self.console.render_lines(rendered, options, pad=False)
        while lines and not "".join(segment.text for segment in lines[-1]).strip():
            lines.pop()
        rows: list[RenderableType] = []
        for line in lines[:RESULT_LINES]:
            safe = [(visible(part.text), part.style.update_link(None) if part.style else "") for part in line]
            rows.append(Text.assemble("    ", *safe))
        if len(lines) > RESULT_LINES:
            rows.append(Text(f"    … {counted(len(lines) - RESULT_LINES, 'more line')}", style="dim"))
        return rows

    def say(self, line: str) -> None:
        """A line about what happens."""
        self.console.print(Text(visible(line), style="yellow"))

    def say_of_agent(self, line: str) -> None:
        """A line about what a sub-agent does; what it does now is shown below."""
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
        """What was written or thought so far goes up, in that order."""
        self._lift_thinking()
        self._lift_text()

    def _lift_thinking(self) -> None:
        if self.thinking:
            self.console.print(Text(visible(self.thinking), style="dim italic"))
            self.thinking = ""

    def _lift_text(self) -> None:
        if self.writing:
            self.console.print(Text(visible(self.writing)))
            self.writing = ""

    def _below(self) -> RenderableType:
        rows: list[RenderableType] = [Text(visible(self.writing))] if self.writing else []
        if self.thinking:
            rows.append(Text(visible(self.thinking), style="dim italic"))
        for call in list(self.running.values()):
            seconds = time.monotonic() - call.began
            progress = f"  {call.progress[:60]}" if call.progress else ""
            call.spinner.update(text=Text(f"{visible(call.label)[:90]}  {seconds:.1f} s{visible(progress)}"))
            rows.append(call.spinner)
            rows += [Text(f"    {visible(line)}", style="dim", no_wrap=True, overflow="ellipsis") for line in call.tail]
        rows += [Text(f"  {visible(row)}", style="cyan") for row in self.agents.rows()]
        return Group(*rows)
