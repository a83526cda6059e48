"""Read lines from the terminal in a thread that ends when its line is no longer wanted."""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from anyio import CancelScope, Lock, to_thread

T = TypeVar("T")
PAUSE = 0.1
"""Seconds after which a reader looks whether it is still wanted."""


class LeftError(Exception):
    """The line is no longer wanted."""


class Lines(Protocol):
    """Where lines come from."""

    def readline(self) -> str:
        """The next line; empty at the end."""
        ...


class Typed:
    """Standard input. A thread inside `sys.stdin.readline` would keep the program from ending, or take a later line."""

    def __init__(self) -> None:
        self._left = False
        self._deciding = threading.Lock()

    def readline(self) -> str:
        """The next line that a person types; raises `LeftError` when it is no longer wanted."""
        while True:
            typed = select.select([sys.stdin], [], [], PAUSE)[0]
            with self._deciding:  # A line that came after `leave` belongs to another user.
                if self._left:
                    raise LeftError
                if typed:
                    return sys.stdin.readline()

    def leave(self) -> None:
        """Give up on the line."""
        with self._deciding:
            self._left = True


async def with_a_person(talk: Callable[[Typed], T]) -> T:
    """Let a thread talk to the person at the terminal; when this is cancelled, so is the talk."""
    typed = Typed()
    try:
        return await to_thread.run_sync(talk, typed, abandon_on_cancel=True)
    finally:
        typed.leave()


class TerminalInput:
    """The person at the terminal, for one talk at a time. A question goes before the prompt that they may be typing.

    Without it a question of an agent in the background and the prompt would wait for the same line, and the one that is
    not meant would get it.
    """

    def __init__(self) -> None:
        self._talking = Lock()
        self._prompt: CancelScope | None = None

    async def ask(self, talk: Callable[[Typed], T], room: AbstractContextManager[object]) -> T:
        """Ask a question, in the `room` that a view makes for it."""
        if self._prompt:
            self._prompt.cancel()
        async with self._talking:
            with room:
                return await with_a_person(talk)

    async def line(self, room: Callable[[], AbstractContextManager[object]]) -> str:
        """The next prompt, in a `room` as above; empty at the end of input.

        After each question that came first the person begins anew.
        """
        while True:
            async with self._talking:
                with CancelScope() as self._prompt, room():
                    return await with_a_person(Typed.readline)
