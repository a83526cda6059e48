"""What keys do in a conversation. Editing keys are those of emacs, as in a shell."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import anyio
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from pegboard_terminal.menu import Menu
from pegboard_terminal.screen import Screen

SHIFT_ENTER = ("\x1b[13;2u", "\x1b[27;2;13~")
"""What terminals that tell it from Enter send for Shift-Enter."""
for sequence in SHIFT_ENTER:
    ANSI_SEQUENCES[sequence] = (Keys.Escape, Keys.ControlM)  # As Alt-Enter: a new line.

AGAIN = 2.0
"""Seconds within which a second Ctrl-C leaves."""
PAUSE = 0.5
"""Seconds without a key after which a question that came while the person was typing takes an answer."""


class Person(Protocol):
    """What the person at the keys can do."""

    def enter(self, text: str) -> None:
        """Send what was typed."""
        ...

    def interrupt(self) -> bool:
        """Stop what is going on; False when nothing is."""
        ...

    def leave(self) -> None:
        """End the conversation."""
        ...

    def next_mode(self) -> None:
        """Choose the next permission mode."""
        ...

    def unfold(self) -> None:
        """Show the last folded output in full."""
        ...

    def hint(self, words: str) -> None:
        """Show a word about keys for a while."""
        ...

    @property
    def is_asked(self) -> bool:
        """Whether a question waits for an answer."""
        ...

    @property
    def menu(self) -> Menu | None:
        """What is chosen from with arrows, if anything is."""
        ...

    @property
    def keeps_lines(self) -> bool:
        """Whether an answer of several lines is being written."""
        ...


class Keyboard:
    """Binds the keys of a screen to what the person can do."""

    def __init__(self, screen: Screen, person: Person) -> None:
        self._screen, self._person = screen, person
        self._key = self._stopped = 0.0
        self._guarded = False
        screen.keys = KeyBindings()
        self._bind(screen.keys)
        screen.app.editing_mode = EditingMode.EMACS
        screen.app.key_processor.before_key_press += self._note_key

    def release(self) -> None:
        """The screen goes to another conversation."""
        self._screen.keys = KeyBindings()
        self._screen.app.key_processor.before_key_press -= self._note_key

    def _note_key(self, _: object) -> None:
        self._key = time.monotonic()

    async def quiet(self) -> None:
        """Wait until no one types. Who is typing when a question appears does not mean it: these keys are dropped."""
        self._guarded = True
        try:
            while time.monotonic() - self._key < PAUSE:  # noqa: ASYNC110 - keys are many, questions few
                await anyio.sleep(PAUSE / 10)
        finally:
            self._guarded = False

    def _is_guarded(self) -> bool:
        return self._guarded and self._person.is_asked

    def _bind(self, keys: KeyBindings) -> None:
        usual = ~is_searching
        typing = usual & ~Condition(lambda: self._person.is_asked)
        writing = typing | (usual & Condition(lambda: self._person.keeps_lines))
        keys.add("enter", filter=usual)(self._enter)
        for new_line in (("escape", "enter"), ("c-j",)):
            keys.add(*new_line, filter=writing)(lambda event: event.current_buffer.insert_text("\n"))
        keys.add("c-c", filter=usual)(self._ctrl_c)
        keys.add("c-d", filter=usual & Condition(lambda: not self._screen.buffer.text))(self._ctrl_d)
        keys.add("escape", filter=usual & ~has_completions)(lambda event: self._person.interrupt())
        keys.add("escape", filter=usual & has_completions)(lambda event: event.current_buffer.cancel_completion())
        keys.add("s-tab", filter=typing & ~has_completions)(lambda event: self._person.next_mode())
        keys.add("c-o", filter=usual)(lambda event: self._person.unfold())
        keys.add("tab", filter=typing)(self._tab)
        keys.add("c-x", "c-e", filter=writing)(lambda event: event.current_buffer.open_in_editor())
        self._bind_menu(keys)
        guarded = Condition(self._is_guarded)
        keys.add(Keys.Any, filter=guarded, eager=True)(lambda event: None)
        keys.add("enter", filter=guarded, eager=True)(lambda event: None)
        keys.add("c-c", filter=guarded, eager=True)(self._ctrl_c)

    def _bind_menu(self, keys: KeyBindings) -> None:
        """The keys of a menu. All others do nothing meanwhile, but those that stop and leave."""
        chosen_from = Condition(lambda: self._person.menu is not None)

        def bind(key: str, act: Callable[[Menu], None]) -> None:
            def press(event: KeyPressEvent) -> None:
                if menu := self._person.menu:
                    act(menu)
                    self._screen.wake()

            keys.add(key, filter=chosen_from, eager=True)(press)

        keys.add(Keys.Any, filter=chosen_from)(lambda event: None)
        for key, step in (("up", -1), ("c-p", -1), ("down", 1), ("c-n", 1), ("tab", 1), ("s-tab", -1)):
            bind(key, partial(Menu.move, by=step))
        for number in range(1, 10):
            bind(str(number), partial(Menu.pick, number=number))
        bind(" ", Menu.mark)
        bind("enter", Menu.enter)

    def _enter(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # The choice is made; another Enter sends it.
            return
        if not self._person.is_asked and buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
            return
        text = buffer.text
        buffer.reset(append_to_history=bool(text.strip()) and not self._person.is_asked)
        self._person.enter(text)

    def _tab(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_next()
            return
        # Not in the background: a completion that is on its way because of the last key would make this one do nothing.
        found = list(self._screen.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
        if len(found) == 1:
            buffer.apply_completion(found[0])
        elif common := get_common_complete_suffix(buffer.document, found):
            buffer.insert_text(common)
        elif found:
            buffer.start_completion()

    def _ctrl_c(self, event: KeyPressEvent) -> None:
        is_second = time.monotonic() - self._stopped < AGAIN
        self._stopped = time.monotonic()
        if self._person.interrupt():
            return
        if event.current_buffer.text:
            event.current_buffer.reset()
        elif is_second:
            self._person.leave()
            return
        self._person.hint("Press Ctrl-C again to leave.")

    def _ctrl_d(self, event: KeyPressEvent) -> None:
        if self._person.is_asked:
            self._person.enter("")
        else:
            self._person.leave()
