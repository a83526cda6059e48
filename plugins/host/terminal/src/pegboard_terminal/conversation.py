"""The conversation: prompts one after the other, commands, what is typed meanwhile, and how it ends."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import PegboardError, ProviderError
from pegboard_cli import INTERRUPTED
from pegboard_session import (
    SlashConfirm,
    SlashExit,
    SlashPrompt,
    SlashSwitch,
    answer_slash_command,
    split_slash_command,
)
from pegboard_terminal.keys import Keyboard
from pegboard_terminal.memory_line import keep_line, memory_line

if TYPE_CHECKING:
    from pegboard_session import Session, SlashAnswer, SlashCommand
    from pegboard_terminal.menu import Menu
    from pegboard_terminal.view import TerminalView

CYCLE = ("default", "acceptEdits", "plan", "auto")
"""The modes that Shift-Tab goes through, as far as they are there."""


class Conversation:
    """One session at the terminal. It is the `Person` of the keyboard."""

    def __init__(self, session: Session, view: TerminalView) -> None:
        self.session, self.view = session, view
        self._more = anyio.Event()
        self._scope = anyio.CancelScope()
        self._command: anyio.CancelScope | None = None
        self._left: int | None = None
        self._is_settled = False

    async def run(self) -> int | SlashSwitch:
        """Answer until the person leaves."""
        view = self.view
        keyboard = Keyboard(view.screen, self)
        view.quiet = keyboard.quiet
        view.screen.on_gone = self.leave
        ending: int | SlashSwitch = 0
        gc.freeze()
        with view.opened(self.session):
            try:
                await view.screen.open()
                with self._scope:
                    ending = await self._go_on()
            finally:
                keyboard.release()
                with anyio.CancelScope(shield=True):
                    await view.screen.close()
                view.queued.clear()
        return ending if self._left is None else self._left

    async def _go_on(self) -> int | SlashSwitch:
        async with anyio.create_task_group() as self._at_once:
            while True:
                text = await self._next()
                ending = await self._handle(text)
                if ending is not None:
                    self._at_once.cancel_scope.cancel()
                    return ending
        raise AssertionError("a conversation ends with an ending")

    async def _next(self) -> str:
        while not self.view.queued:
            self._more = anyio.Event()
            if text := await self._scheduled():
                return text
        return self.view.queued.pop(0)

    async def _scheduled(self) -> str:
        """Wait until there is input, or a scheduled prompt is due: that is what is returned."""
        schedules: Any = self.session.ctx.services.others.get("schedules")
        found: list[str] = []

        async def wait() -> None:
            if schedules is not None and (text := await schedules.next_prompt()) is not None:
                found.append(text)
                self._more.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await self._more.wait()
            group.cancel_scope.cancel()
        return "".join(found)

    async def _handle(self, text: str) -> int | SlashSwitch | None:
        """Answer one input; what it returns ends the conversation."""
        self.view.show_prompt_of(text)
        if (words := memory_line(text)) is not None:
            self.view.say_plain(keep_line(self.session, words))
            return None
        if slash := split_slash_command(text.strip()):
            return await self._run_command(*slash)
        await self._prompt(text)
        return None

    async def _prompt(self, text: str) -> None:
        with self.view.working():
            try:
                self.view.finish(await self.session.run(text), self.session)
            except ProviderError as error:
                self.view.fail(str(error))
        self._settle()

    def _settle(self) -> None:
        """After the first answer: what was imported for it stays, and is not looked through for garbage again.

        Looking through everything holds the keys for 60 ms and more, and happens when much is made, as for large
        results. The same is done when the conversation begins.
        """
        if not self._is_settled:
            self._is_settled = True
            gc.freeze()

    async def _run_command(self, name: str, arguments: str) -> int | SlashSwitch | None:
        answer = None
        with anyio.CancelScope() as self._command, self.view.working():
            try:
                answer = await self._confirmed(await answer_slash_command(self.session, name, arguments))
            except PegboardError as error:
                self.view.fail(str(error))
        stopped, self._command = self._command.cancelled_caught, None
        if stopped:
            self.view.say(f"/{name} was stopped.")
        self.view.status.count(self.session)
        if isinstance(answer, SlashExit):
            return 0
        if isinstance(answer, SlashSwitch):
            return answer
        if isinstance(answer, SlashPrompt):
            await self._prompt(answer.text)
        elif isinstance(answer, str) and answer:
            self.view.say_plain(answer)
        return None

    async def _confirmed(self, answer: SlashAnswer) -> SlashAnswer:
        """What a command answers, after it was asked whether it shall."""
        while isinstance(answer, SlashConfirm):
            self.view.say_plain(answer.text)
            agrees = await self.view.asking.confirm(answer.question)
            answer = await answer.then() if agrees else "Nothing was done."
        return answer

    # What the person at the keys does

    @property
    def is_asked(self) -> bool:
        """Whether a question waits for an answer."""
        return self.view.asking.is_open

    @property
    def menu(self) -> Menu | None:
        """What is chosen from with arrows, if anything is."""
        return self.view.asking.menu

    @property
    def keeps_lines(self) -> bool:
        """Whether an answer of several lines is being written."""
        return self.view.asking.keeps_lines

    def enter(self, text: str) -> None:
        """Send what was typed: to the question, at once, or when the model is done."""
        if self.is_asked:
            self.view.asking.take(text)
            return
        if not text.strip():
            return
        if self.session.is_running and (command := self._at_once_command(text)):
            self._at_once.start_soon(self._run_at_once, command, text)
            return
        self.view.queued.append(text)
        if self.session.is_running:
            self.session.emit("prompt_waiting")
        self._more.set()
        self.view.screen.wake()

    def _at_once_command(self, text: str) -> SlashCommand | None:
        slash = split_slash_command(text.strip())
        command = self.view.completer.commands(self.session).get(slash[0]) if slash else None
        return command if command and command.at_once else None

    async def _run_at_once(self, command: SlashCommand, text: str) -> None:
        """A command that needs not wait for the model."""
        self.view.show_prompt_of(text)
        slash = split_slash_command(text.strip())
        try:
            answer = await self._confirmed(
                await answer_slash_command(self.session, command.name, slash[1] if slash else "")
            )
        except PegboardError as error:
            self.view.fail(str(error))
            return
        if isinstance(answer, SlashExit):
            self.leave()
        elif isinstance(answer, str):
            self.view.say_plain(answer)

    def interrupt(self) -> bool:
        """Stop the turn or the command; what was done is kept."""
        if self.session.is_running:
            is_new = not self.session.is_interrupted
            if is_new:
                self.session.interrupt()
                self.view.screen.wake()
            return is_new
        if self._command is not None:
            self._command.cancel()
            return True
        return False

    def leave(self) -> None:
        """End the conversation; a turn that is going on is broken off."""
        self._left = INTERRUPTED if self.session.is_running else 0
        self._scope.cancel()

    def next_mode(self) -> None:
        """Choose the next permission mode."""
        session, hint = self.session, ""
        now = session.current.mode
        start = CYCLE.index(now) if now in CYCLE else -1
        known = [mode for mode in (*CYCLE[start + 1 :], *CYCLE[: start + 1]) if mode in session.board.hooks.modes]
        for mode in known:
            hint = session.set_mode(mode)
            if not hint:
                break
        self.hint(hint or f"mode {session.current.mode}")

    def unfold(self) -> None:
        """Show the last folded output in full."""
        self.view.unfold()

    def hint(self, words: str) -> None:
        """Show a word about keys for a while."""
        self.view.hint(words)
