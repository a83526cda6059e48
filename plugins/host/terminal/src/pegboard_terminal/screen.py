"""The lower end of the terminal: what moves, the input line and the status line. Everything else is printed above it.

What is printed goes into the terminal's own scrollback and is never drawn again. prompt_toolkit draws the few lines
below; between two of its drawings they are wiped, the new lines are printed, and they are drawn again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, DummyCompleter, ThreadedCompleter
from prompt_toolkit.data_structures import Point
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import DynamicKeyBindings, KeyBindings
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.containers import Container
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import BeforeInput, HighlightIncrementalSearchProcessor
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from pegboard_terminal.pen import Pen

STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "status": "fg:ansibrightblack",
        "completion-menu": "bg:default fg:ansibrightblack",
        "completion-menu.completion": "bg:default",
        "completion-menu.completion.current": "bg:default fg:default bold reverse",
        "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
        "completion-menu.meta.completion.current": "bg:default fg:default",
    }
)
FRAME = 0.1
"""Seconds between two drawings of what moves."""
SHARE = 8
"""A drawing that takes long is followed by a pause that is this many times longer."""
INPUT_ROWS, MENU_ROWS = 10, 6
PROMPT = "> "


def _output(out: TextIO) -> Vt100_Output:
    """The terminal. Its cursor is not asked for: the answer would come among the keys, and nothing here needs it."""
    output: Vt100_Output = Vt100_Output.from_pty(
        out, term=os.environ.get("TERM"), default_color_depth=ColorDepth.from_env()
    )
    output.enable_cpr = False
    return output


class Screen:
    """Prints above, draws below. `rows` and `status` are asked at each drawing; `moving` says whether to go on."""

    def __init__(self, out: TextIO, history: History | None = None, completer: Completer | None = None) -> None:
        self.output: Vt100_Output = _output(out)
        self.pen = Pen(lambda: self.columns)
        self.rows: Callable[[], list[str]] = list
        self.status: Callable[[], str] = str
        self.moving: Callable[[], bool] = lambda: False
        self.before_frame: Callable[[], None] = lambda: None
        self.on_gone: Callable[[], None] = lambda: None
        """Called when no more keys can come: the terminal was closed, and its signal is ignored or did not come."""
        self.prompt = PROMPT
        self.keys = KeyBindings()
        self.completer: Completer = completer or DummyCompleter()
        self.buffer = Buffer(
            history=history or InMemoryHistory(),
            completer=ThreadedCompleter(self.completer),
            complete_while_typing=True,
            multiline=True,
            name="input",
        )
        self._pending: list[str] = []
        self._live: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._took = 0.0
        self.app: Application[None] = self._application()

    # What is printed and drawn

    def print(self, lines: Iterable[str]) -> None:
        """Add lines above. They appear with the next frame, in order; from any thread."""
        self._pending += lines
        self.wake()

    def wake(self) -> None:
        """Draw a frame soon; from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._schedule)

    def _schedule(self) -> None:
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(max(FRAME, self._took * SHARE) if self._took else 0, self._frame)

    def _frame(self) -> None:
        self._timer = None
        loop = self._loop
        if loop is None or not self.app.is_running:
            return
        began = loop.time()
        self.draw()
        self._took = loop.time() - began
        if self.moving() or self._pending:
            self._schedule()

    def draw(self) -> None:
        """Print what waits, and draw what is below it."""
        self.before_frame()
        lines, self._pending = self._pending, []
        before, self._live = len(self._live), self._cropped(self.rows())
        if lines or len(self._live) < before:
            self.app.renderer.erase()
            self._write(lines)
        self.app.invalidate()

    def _write(self, lines: list[str]) -> None:
        if lines:
            self.output.write_raw("".join(f"{line}\r\n" for line in lines))
            self.output.flush()

    def _cropped(self, rows: list[str]) -> list[str]:
        """The last rows, as many as leave room for the input and the status."""
        most = max(self.output.get_size().rows - 6, 1)
        return rows[-most:]

    @property
    def columns(self) -> int:
        """How wide the terminal is."""
        return self.output.get_size().columns

    @property
    def height(self) -> int:
        """How many lines the terminal has."""
        return self.output.get_size().rows

    # The life of the screen

    async def open(self) -> None:
        """Take over the terminal."""
        self._loop = asyncio.get_running_loop()
        started = asyncio.Event()
        # A task of its own: cancelling it in the middle would leave the terminal in raw mode.
        self._task = asyncio.create_task(self.app.run_async(pre_run=started.set, handle_sigint=False))
        self._task.add_done_callback(lambda _: self.on_gone())
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait([waiting, self._task], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self._schedule()

    async def close(self) -> None:
        """Give the terminal back, with everything printed that was to be. Shield it from cancellation."""
        self.on_gone = lambda: None
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            if not self._task.done():
                self.before_frame()
                self.app.renderer.erase()
                self.app.exit()
            await asyncio.wait([self._task])
            error = None if self._task.cancelled() else self._task.exception()
            if isinstance(error, EOFError):  # There is no terminal to write to.
                self._pending = []
            elif error:
                raise error
        self._loop = self._task = None
        self._write(self._pending)
        self._pending = []

    def borrow(self, text: str = "", prompt: str = PROMPT) -> Document:
        """Use the input line for something else; returns what was in it, to be put back."""
        before = self.buffer.document
        self.prompt = prompt
        self.buffer.cancel_completion()
        self.buffer.set_document(Document(text, len(text)), bypass_readonly=True)
        self.wake()
        return before

    def put_back(self, draft: Document) -> None:
        """The input line is the person's again."""
        self.prompt = PROMPT
        self.buffer.set_document(draft, bypass_readonly=True)
        self.wake()

    def _application(self) -> Application[None]:
        app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=DynamicKeyBindings(lambda: self.keys),
            style=STYLE,
            output=self.output,
            input=create_input(),
            erase_when_done=True,
            enable_page_navigation_bindings=False,
            mouse_support=False,
        )
        app.ttimeoutlen, app.timeoutlen = 0.05, 0.2  # So that Esc alone is not waited for.
        app.max_render_postpone_time = 0  # What was wiped for printing comes back at once.
        return app

    def _layout(self) -> Layout:
        search = SearchToolbar(ignore_case=True)
        control = BufferControl(
            self.buffer,
            input_processors=[BeforeInput(lambda: self.prompt, "class:prompt"), HighlightIncrementalSearchProcessor()],
            search_buffer_control=search.control,
            preview_search=True,
        )
        live = Window(
            FormattedTextControl(self._live_text, show_cursor=False, get_cursor_position=lambda: Point(0, 0)),
            dont_extend_height=True,
            wrap_lines=False,
        )
        written = Window(
            control,
            height=Dimension(min=1, max=INPUT_ROWS),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda line, wrap: "  " if line or wrap else "",
        )
        menu = Window(CompletionsMenuControl(), height=Dimension(min=1, max=MENU_ROWS), dont_extend_height=True)
        status = Window(FormattedTextControl(self._status_text), height=1, style="class:status")
        rows: list[Container] = [
            ConditionalContainer(live, Condition(lambda: bool(self._live))),
            written,
            ConditionalContainer(menu, has_completions & has_focus(control)),
            search.container,
            status,
            Window(height=Dimension(preferred=0)),  # Takes the rows that were needed before and are not now.
        ]
        return Layout(HSplit(rows), focused_element=control)

    def _live_text(self) -> AnyFormattedText:
        return ANSI("\n".join(self._live))

    def _status_text(self) -> AnyFormattedText:
        return ANSI(self.status())
