"""What a person sees of a conversation on a terminal."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import anyio.lowlevel

from pegboard import Answer, Call, Context, Decision, Question, Tool, hookimpl
from pegboard.wording import counted
from pegboard_cli import View
from pegboard_terminal.calls import Calls, Finished, Running, describe, spinner
from pegboard_terminal.completion import InputCompleter
from pegboard_terminal.conversation import Conversation
from pegboard_terminal.history import history_of
from pegboard_terminal.markdown_blocks import Block, MarkdownBlocks
from pegboard_terminal.pen import harmless
from pegboard_terminal.question import Asking
from pegboard_terminal.screen import Screen
from pegboard_terminal.service_rows import service_rows
from pegboard_terminal.status import Status
from pegboard_terminal.stderr_lines import StderrLines

if TYPE_CHECKING:
    from pegboard_session import Outcome, Session, SlashSwitch

log = logging.getLogger("pegboard")

HINT = 2.0
"""Seconds for which a word about keys is shown."""
NEWS = 300
"""How many characters of news are shown."""
ANSWER_LINES = 300
"""How many lines of a command's answer are shown."""
PROMPT_LINES = 20
"""How many lines of a prompt are shown above."""


class TerminalView(View):
    """A conversation on a terminal, drawn as it happens."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.completer = InputCompleter()
        self.screen = Screen(self.out, history_of(folder), self.completer)
        self.screen.rows, self.screen.status = self._rows, self._status_line
        self.screen.before_frame, self.screen.moving = self._take_text, lambda: self.is_busy
        self.calls, self.status = Calls(self.screen.pen), Status()
        self.quiet: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """Waits until the person does not type."""
        self.asking = Asking(self.screen, lambda: self.quiet())
        self.session: Session | None = None
        self.queued: list[str] = []
        """Prompts that wait until the model is done."""
        self._blocks, self._incoming = MarkdownBlocks(), list[str]()
        self._drawn: tuple[str, int, list[str]] = ("", 0, [])
        self._thought = ""
        self._began: float | None = None
        self._hint: tuple[float, str] = (0.0, "")

    async def converse(self, session: Session) -> int | SlashSwitch:
        """Prompts and answers until the person leaves: the exit code, or the session to go on with."""
        return await Conversation(session, self).run()

    @contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        """Show this session; what others write to standard error appears above the input line."""
        self.session = self.completer.session = self.asking.session = session
        self.status.count(session)
        with StderrLines(self.say_plain) if sys.stderr.isatty() else nullcontext():
            yield

    # What the model says

    def on_request_started(self, **rest: Any) -> None:
        self._settle()

    def on_text_written(self, text: str, **rest: Any) -> None:
        self._settle_thought()
        self._incoming.append(text)
        self.screen.wake()

    def on_thinking_written(self, text: str, **rest: Any) -> None:
        self._settle_text()
        self._thought += text
        *lines, self._thought = self._thought.split("\n")
        self._print_thought(lines)
        self.screen.wake()

    def on_message_finished(self, **data: Any) -> None:
        self._settle()
        if self.session:
            self.status.count(self.session)

    def _take_text(self) -> None:
        """Before each frame: blocks that are finished go up."""
        text, self._incoming = "".join(self._incoming), []
        if text:
            self._print_blocks(self._blocks.feed(text))

    def _settle(self) -> None:
        self._settle_thought()
        self._settle_text()

    def _settle_text(self) -> None:
        self._take_text()
        self._print_blocks(self._blocks.end())

    def _settle_thought(self) -> None:
        if self._thought:
            self._print_thought([self._thought])
            self._thought = ""

    def _print_thought(self, lines: list[str]) -> None:
        for line in lines:
            self.screen.print(self.screen.pen.text(line, "dim italic"))

    def _print_blocks(self, blocks: list[Block]) -> None:
        for block in blocks:
            self.screen.print([*([] if block.follows else [""]), *self.screen.pen.markdown(block.text)])

    # What the tools do

    def on_call_requested(self, id: str, name: str, input: dict[str, Any], **rest: Any) -> None:
        self._settle()
        super().on_call_requested(id, name, input)
        self.inputs[id] = describe(self.board, name, input, self.inputs[id])

    def on_call_started(self, id: str, name: str, **rest: Any) -> None:
        self.calls.running[id] = Running(self.inputs.get(id, name))
        self.screen.wake()

    def on_call_progress(self, id: str, message: str, data: Mapping[str, Any] | None = None, **rest: Any) -> None:
        self.calls.progress(id, message, str((data or {}).get("tail", "")))

    @hookimpl(priority=1000)
    def after_call(self, tool: Tool[Any, Any], call: Call, value: Any, ctx: Context) -> None:
        """Keep how the tool draws its result, as other hooks have left it, until the call is over."""
        if ctx.agent.depth:
            return  # Of sub-agents only lines are shown.
        try:
            drawn = tool.render_result(value)
        except Exception:  # A picture that cannot be drawn must not cost the model its result.
            log.debug("the result of %s could not be drawn", tool.name, exc_info=True)
            return
        if drawn is not None:
            self.calls.drawn[call.id] = drawn

    def on_call_finished(
        self, id: str, name: str, decision: str, is_error: bool, ms: float, said: str, **rest: Any
    ) -> None:
        self._settle()
        kind = "denied" if decision == "deny" else "failed" if is_error else "ok"
        self.screen.print(self.calls.finish(id, Finished(self.inputs.pop(id, name), kind, ms, said)))

    def on_news(self, text: str, **rest: Any) -> None:
        """Something in the background has ended. What follows the first line is for the model."""
        lines = self.screen.pen.text(f"◆ {text.splitlines()[0][:NEWS]}" if text.strip() else "◆", "cyan")
        self.screen.print(lines)

    @hookimpl
    async def ask_user(self, question: Question) -> Decision | Answer | None:
        """Ask the person at the terminal; without a conversation there is no one to ask."""
        if self.session is None:
            return None
        self._settle()
        return await self.asking.ask(question)

    def unfold(self) -> None:
        """Show the last folded result in full, a portion a time."""

        async def show() -> None:
            for lines in self.calls.unfold():
                self.screen.print(lines)
                await asyncio.sleep(0)

        self._showing = asyncio.ensure_future(show())

    # What else there is to say

    def say(self, line: str) -> None:
        """A line about what happens."""
        self._settle()
        self.screen.print(self.screen.pen.text(line.rstrip(), "yellow"))

    def say_plain(self, text: str) -> None:
        """The answer of a command, or a line of others. A long one is folded: drawing it would hold the keys."""
        lines = text.split("\n", ANSWER_LINES)
        rest = lines[ANSWER_LINES:]
        self.screen.print(self.screen.pen.answer("\n".join(lines[:ANSWER_LINES])))
        if rest:
            self.screen.print(self.calls.keep_folded("all of it", text, rest[0].count("\n") + 1))

    def say_of_agent(self, line: str) -> None:
        """A line about what a sub-agent does; what it does now is shown below."""
        self.screen.print([self.screen.pen.row((line, "dim"))])

    def fail(self, message: str) -> None:
        """What went wrong."""
        if self.session is None:
            super().fail(message)
            return
        self._settle()
        self.screen.print(self.screen.pen.text(f"pegboard: {message}", "red"))

    def show_prompt_of(self, text: str) -> None:
        """What the person wrote goes up."""
        lines = harmless(text).expandtabs().split("\n")
        shown = [f"{'> ' if number == 0 else '  '}{line}" for number, line in enumerate(lines[:PROMPT_LINES])]
        more = len(lines) - PROMPT_LINES
        shown += [f"  … {counted(more, 'more line')}"] if more > 0 else []
        self.screen.print(["", *self.screen.pen.text("\n".join(shown), "bold")])

    def finish(self, outcome: Outcome, session: Session) -> None:
        """The prompt is answered."""
        self._settle()
        self.calls.running.clear()
        if not outcome.is_success:
            self.say(f"Stopped ({outcome.stopped_by}) after {counted(outcome.turns, 'turn')}.")
        self.status.count(session)

    def hint(self, words: str) -> None:
        """Show a word about keys in the status line for a while."""
        self._hint = (time.monotonic() + HINT, words)
        self.screen.wake()
        asyncio.get_running_loop().call_later(HINT + 0.1, self.screen.wake)

    # What moves

    @property
    def is_busy(self) -> bool:
        """Whether something moves on the screen."""
        return self._began is not None or bool(self.agents.nodes)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The model, or a command, works on something."""
        self._began = time.monotonic()
        self.screen.wake()
        try:
            yield
        finally:
            self._began = None
            self.screen.wake()

    def _rows(self) -> list[str]:
        pen, rows = self.screen.pen, list[str]()
        rows += self._unfinished()
        if self._thought:
            rows += pen.text(self._thought, "dim italic")
        rows += self.calls.rows()
        rows += [pen.row((f"  {row}", "cyan")) for row in self.agents.rows()]
        if self.asking.is_open:
            return [*rows, *self.asking.rows()]
        rows += [pen.row((f"  queued: {text}", "dim")) for text in self.queued]
        if self._began is not None:
            rows += [pen.row((f"  {row}", "dim")) for row in service_rows(self.session)] if self.session else []
            seconds = time.monotonic() - self._began
            rows.append(pen.row((f"{spinner()} ", "cyan"), (f"{self._activity()} {seconds:.0f} s", "dim")))
        return rows

    def _activity(self) -> str:
        if self.session and self.session.is_interrupted:
            return "Stopping"
        running = len(self.calls.running)
        if running:
            return f"Running {counted(running, 'call')}; Esc stops"
        return "Writing; Esc stops" if self._blocks.rest.text.strip() else "Working; Esc stops"

    def _unfinished(self) -> list[str]:
        """The block that is being written, drawn again only when it or the width has changed."""
        rest, width = self._blocks.rest, self.screen.pen.width
        if not rest.text.strip():
            return []
        if self._drawn[:2] != (rest.text, width):
            lines = self.screen.pen.markdown(rest.text)
            self._drawn = (rest.text, width, lines if rest.follows else ["", *lines])
        return self._drawn[2]

    def _status_line(self) -> str:
        if self.session is None:
            return ""
        until, words = self._hint
        hint = words if time.monotonic() < until else ""
        return self.status.line(self.session, hint, self.screen.columns - 1)
