"""What a person or a program sees of a session: plain lines, a live view, or JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pegboard import Board, Event, hookimpl
from pegboard.wording import counted, shown
from pegboard_cli.agent_tree import AgentTree
from pegboard_cli.output import printable, visible
from pegboard_cli.reader_gone import Reader
from pegboard_cli.remedies import without_remedy
from pegboard_cli.typed import TerminalInput
from pegboard_cli.until_complete import REQUIRED
from pegboard_session import Outcome, Session

# Imports happen inside functions: a listing and --help must not load what only other commands need.

ABOUT = ("session", "code")
"""What events carry for programs, and no line shows."""


class View:
    """Plain lines: what the model says goes to stdout, what the tools do to stderr."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.inputs: dict[str, str] = {}
        self.agents = AgentTree()
        # Taken now: inside a call `sys.stdout` belongs to the tool, and a sub-agent's events come from inside one.
        self.out = sys.stdout
        self.failed: OSError | None = None
        """Why standard output cannot be written, once it could not."""
        self.reader = Reader()
        self.terminal_input = TerminalInput()
        self.board: Board | None = None
        """Set once there is one: it knows how its tools want to be shown."""
        self._midline = self._prompting = self._thinking = False
        self._held: list[Event] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_line()
        if self.failed and error is None and not self.reader.is_gone:
            raise self.failed

    @hookimpl
    def observe(self, event: Event) -> None:
        """Every event of the board and the session; those of sub-agents go to their tree."""
        if self._held is not None:
            self._held.append(event)
            return
        if "agent" in event.data:
            asked = event.kind == "call_requested"
            call = summary(event.data["name"], event.data["input"]) if asked else ""
            if line := self.agents.hear(event.kind, event.data, call):
                self.say_of_agent(line)
            return
        show = getattr(self, f"on_{event.kind}", None)
        if show:
            show(**{key: value for key, value in event.data.items() if key not in ABOUT})

    def on_text_written(self, text: str, **rest: Any) -> None:
        """The model writes."""
        self._end_thinking()
        self.print(printable(text))
        self._midline = not text.endswith("\n")

    def on_thinking_written(self, text: str, **rest: Any) -> None:
        """The model thinks: dimmed on a terminal, and apart from the answer."""
        if not self._thinking:
            self._end_line()
        if sys.stderr.isatty():
            sys.stderr.write(f"\x1b[2m{printable(text, sys.stderr)}\x1b[0m")
            sys.stderr.flush()
            self._thinking = True

    def _end_thinking(self) -> None:
        if self._thinking:
            sys.stderr.write("\n")
            self._thinking = False

    def on_message_finished(self, **data: Any) -> None:
        """The model has ended a message."""
        self._end_thinking()
        self._end_line()

    def on_call_requested(self, id: str, name: str, input: dict[str, Any], **rest: Any) -> None:
        """The model has written a call."""
        self._end_thinking()
        self.inputs[id] = summary(name, input)

    def on_call_finished(
        self, id: str, name: str, decision: str, is_error: bool, ms: float, said: str, **rest: Any
    ) -> None:
        """A call has its result."""
        mark = "denied" if decision == "deny" else "failed" if is_error else "ok"
        first = next(iter(without_remedy(said.strip()).splitlines()), "")
        self.say(f"  {mark:<6} {self.inputs.pop(id, name)}  ({ms:.0f} ms)  {first[:80]}")

    def on_request_retried(self, reason: str, delay: float, attempt: int, **rest: Any) -> None:
        """The provider is asked again."""
        self.say(f"  retrying in {delay} s: {reason}")

    def on_message_cut(self, reason: str, **rest: Any) -> None:
        """The stream broke after calls had begun."""
        self.say(f"  the answer was cut off ({reason}); continuing with the complete part")

    def on_tools_updated(self, added: list[str], removed: list[str], changed: list[str], **rest: Any) -> None:
        """The pool has changed."""
        self.say(f"  tools: {len(added)} added, {len(removed)} removed, {len(changed)} changed")

    def on_results_cleared(self, results: int, before: int, after: int, **rest: Any) -> None:
        """Old results have left the conversation."""
        self.say(f"  removed {counted(results, 'old result')} to save room: {before:,} → {after:,} tokens")

    def on_compacted(self, before: int, after: int, **rest: Any) -> None:
        """The conversation goes on from a summary."""
        self.say(f"  compacted the conversation: {before:,} → {after:,} tokens")

    def on_notice(self, message: str, **rest: Any) -> None:
        """Something about the session that a person should know."""
        self.say(f"  {message}")

    def say(self, line: str) -> None:
        """A line about what happens."""
        self._end_line()
        sys.stderr.write(visible(line).rstrip() + "\n")

    def say_of_agent(self, line: str) -> None:
        """A line about what a sub-agent does."""
        if self._prompting:
            sys.stderr.write("\n")
        self.say(line)
        if self._prompting:
            self.show_prompt()

    def fail(self, message: str) -> None:
        """What went wrong."""
        self._end_line()
        sys.stderr.write(f"pegboard: {visible(message)}\n")

    def show_answer(self, text: str) -> None:
        """What a slash command has to say."""
        self._end_line()
        self.print(f"{printable(text)}\n")

    def show_summary(self, text: str) -> None:
        """The last words of a run that was completed: they came with a call, so they were not shown yet."""
        self.show_answer(text)

    def finish(self, outcome: Outcome, session: Session) -> None:
        """The prompt is answered."""
        self._end_line()
        if outcome.stopped_by == "completed":
            self.show_summary(outcome.text)
        if not outcome.is_success:
            sys.stderr.write(f"pegboard: stopped ({outcome.stopped_by}) after {counted(outcome.turns, 'turn')}\n")
        use = session.compaction.use
        if use.window:
            self.say(f"  context: {use.tokens:,} of {use.window:,} tokens ({use.percent} %)")

    def say_goodbye(self, session: Session) -> None:
        """Say how to go on with a session that was saved."""
        if session.transcript and not session.transcript.is_empty and not self.failed:
            self._end_line()
            sys.stderr.write(f"Session {session.id}. Continue with: pegboard run --resume {session.id[:12]}\n")

    def show_prompt(self) -> None:
        """Say that it is the person's turn."""
        sys.stderr.write("> ")
        sys.stderr.flush()

    @contextmanager
    def prompt(self) -> Generator[None, None, None]:
        """Wait for a prompt; what happens in the background meanwhile is shown, and the prompt again below it."""
        self._end_line()
        self._prompting = True
        try:
            self.show_prompt()
            yield
        finally:
            self._prompting = False

    @contextmanager
    def question(self) -> Generator[None, None, None]:
        """Make room for a question; what happens meanwhile is shown when it is answered."""
        self._end_line()
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                self.observe(event)

    def _end_line(self) -> None:
        if self._midline:
            self.print("\n")
            self._midline = False

    def print(self, text: str) -> None:
        """Text on standard output. A failure is kept: here, inside a hook, it would be lost."""
        if self.failed is None:
            try:
                self.out.write(text)
                self.out.flush()
            except BrokenPipeError as error:
                self.failed = error
                self.reader.missed()
            except OSError as error:
                self.failed = error


class DataView(View):
    """For programs: the id of the session is part of the data."""

    def __init__(self) -> None:
        super().__init__()
        self._denials: list[dict[str, Any]] = []

    def note_denial(self, event: Event) -> None:
        """Keep which calls were denied since the last prompt, those of sub-agents too."""
        data = event.data
        if event.kind == "call_finished" and data.get("decision") == "deny":
            self._denials.append({"id": data["id"], "name": data["name"], "reason": data.get("said", "")})

    def take_denials(self) -> list[dict[str, Any]]:
        """The calls that were denied while this prompt was answered."""
        taken, self._denials = self._denials, []
        return taken

    def say_goodbye(self, session: Session) -> None:
        """Nothing more."""


class StreamJsonView(DataView):
    """A JSON object per line, each with its type and a monotonic time in seconds."""

    @hookimpl
    def observe(self, event: Event) -> None:
        """Every event, as it is."""
        self.note_denial(event)
        self.line(event.kind, **event.data)

    def line(self, kind: str, **data: Any) -> None:
        """One line."""
        entry = {"type": kind, "t": round(time.monotonic() - self.began, 6), **data}
        self.print(json.dumps(entry, ensure_ascii=False, default=str) + "\n")

    def finish(self, outcome: Outcome, session: Session) -> None:
        """The last line of a prompt."""
        self.line("result", **result_data(outcome, session, self.take_denials()))

    def fail(self, message: str) -> None:
        """What went wrong, for programs and for people."""
        self.line("error", message=message)
        super().fail(message)


class JsonView(DataView):
    """One JSON object at the end."""

    @hookimpl
    def observe(self, event: Event) -> None:
        """Nothing on the way."""
        self.note_denial(event)

    def finish(self, outcome: Outcome, session: Session) -> None:
        """The object."""
        self.print(json.dumps(result_data(outcome, session, self.take_denials()), ensure_ascii=False, indent=1) + "\n")


def result_data(outcome: Outcome, session: Session, denials: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How a prompt was answered, as plain data. `cost` is None where no price is known."""
    return {
        "session_id": session.id,
        "text": outcome.text,
        "stopped_by": outcome.stopped_by,
        "is_error": not outcome.is_success,
        **({"completed": outcome.stopped_by == "completed"} if session.board.settings.get(REQUIRED, False) else {}),
        "turns": outcome.turns,
        **({"value": outcome.value} if session.output.schema is not None else {}),
        "cost": float(session.usage.cost) if session.usage.priced else None,
        "denials": denials,
        "usage": session.usage.as_data(),
        "context": {"tokens": session.compaction.use.tokens, "window": session.compaction.window},
    }


def summary(name: str, input: dict[str, Any]) -> str:
    """A call in one line."""
    return " ".join([name, *(f"{key}={shown(value)}" for key, value in input.items())])[:160]


def view_for(output_format: str, *, final_only: bool = False) -> View:
    """The view for this output: live on a terminal, plain in a pipe; with `final_only`, stdout has the answer alone."""
    if output_format == "stream-json":
        return StreamJsonView()
    if output_format == "json":
        return JsonView()
    if final_only:
        from pegboard_cli.print_view import PrintView

        return PrintView()
    if sys.stdout.isatty() and sys.stderr.isatty():
        from pegboard_cli.live import LiveView

        return LiveView()
    return View()
