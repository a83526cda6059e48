"""Ask before a call runs: once, for this session, always with a rule that is shown, no, or no with a message."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import anyio
from rich.cells import cell_len, chop_cells

from pegboard import Allow, Answer, Decision, Deny, Question, SettingsError
from pegboard.wording import counted
from pegboard_cli import ONLY_A_PERSON, question_lines, revealed
from pegboard_terminal.form import Form
from pegboard_terminal.menu import Menu
from pegboard_terminal.screen import Screen

if TYPE_CHECKING:
    from pegboard_session import Session

EDITS = "acceptEdits"
LEAVE_FREE = 14
"""Lines of the screen that a question leaves for its choices and the input."""
MENU_LEAVES = 8
"""Lines of the screen that a menu leaves free."""
YES_OR_NO = {"y": True, "yes": True, "n": False, "no": False, "": False}
MESSAGE = "Message to the model: "


class Asking:
    """One question at a time, in place of the input line. What the person was typing waits meanwhile."""

    def __init__(self, screen: Screen, quiet: Callable[[], Awaitable[None]]) -> None:
        self._screen, self.quiet = screen, quiet
        self.session: Session | None = None
        self.is_open = False
        self.choices: list[str] = []
        """What is shown above the input line."""
        self.menu: Menu | None = None
        """What is chosen from with arrows."""
        self.keeps_lines = False
        """Whether a text of several lines is being written."""
        self._approved: set[str] = set()
        self._lock = anyio.Lock()
        self._answered: anyio.Event | None = None
        self._answer = ""

    def take(self, text: str) -> None:
        """The person has typed an answer. In a menu there is none to type: this is the end of it."""
        if self.menu:
            self.menu.decline()
        elif self._answered and not self._answered.is_set():
            self._answer = text.strip()
            self._answered.set()

    def rows(self) -> list[str]:
        """What is shown above the input line, as lines."""
        pen = self._screen.pen
        if self.menu:
            return self.menu.rows(pen, max(self._screen.height - MENU_LEAVES, 6))
        return pen.text("\n".join(self.choices))

    async def choose(self, menu: Menu) -> list[int] | None:
        """What the person chooses from a menu; None if they decline."""
        self._screen.borrow(prompt="")
        self.menu = menu
        try:
            return await menu.wait()
        finally:
            self.menu = None

    async def ask(self, question: Question) -> Decision | Answer:
        """The person's decision, or an earlier one that covers this call; a form is filled in."""
        if earlier := self._earlier(question):
            return earlier
        async with self._lock:
            if earlier := self._earlier(question):  # The question before this one was answered with a rule.
                return earlier
            draft = self._screen.borrow(prompt="")
            self.is_open = True
            try:
                if question.form:
                    return await Form(self, self._screen).fill(question)
                return await self._decide(question)
            finally:
                self.is_open, self.choices, self.keeps_lines = False, [], False
                self._screen.put_back(draft)

    def _earlier(self, question: Question) -> Decision | None:
        if question.rules and self._approved.issuperset(question.rules):
            return Allow("Approved earlier, with a rule.", layer="ask", rule=question.rules[0])
        return None

    async def confirm(self, question: str) -> bool:
        """A yes or no of the person to what a command would do. No answer is a no."""
        async with self._lock:
            draft = self._screen.borrow(prompt="")
            self.is_open = True
            try:
                await self.quiet()
                while (word := (await self.read(f"{question} [y/N] ")).lower()) not in YES_OR_NO:
                    self._screen.print([self._screen.pen.row(("Please answer y, n.", "yellow"))])
                return YES_OR_NO[word]
            finally:
                self.is_open = False
                self._screen.put_back(draft)

    async def _decide(self, question: Question) -> Decision:
        rest = self._show(question)
        await self.quiet()
        while True:
            offered = self._offered(question, is_whole=not rest)
            self.choices = _choice_lines(offered)
            keys = "/".join("N" if key == "n" else key for key in offered)
            choice = (await self.read(f"Run it? [{keys}] ")).lower()
            choice = {"": "n", "yes": "y", "no": "n"}.get(choice, choice)
            if choice == "v" and rest:
                self._screen.print(rest)
                rest = []
            elif choice in offered:
                return await self._carry_out(choice, question)
            else:
                self._screen.print([self._screen.pen.row((f"Please answer {', '.join(offered)}.", "yellow"))])

    def _show(self, question: Question) -> list[str]:
        """Print the call as it will run, and return the lines for which there is no room."""
        colour = "NO_COLOR" not in os.environ
        lines = list(self._rows(question_lines(question, colour=colour), question_lines(question, colour=False)))
        room = max(self._screen.height - LEAVE_FREE, 4)
        shown, rest = (lines[:room], lines[room:]) if len(lines) > room + 1 else (lines, [])
        more = [self._screen.pen.row((f"  … {counted(len(rest), 'more line')}; v shows all", "dim"))] if rest else []
        self._screen.print(["", *shown, *more])
        return rest

    def _rows(self, drawn: Iterable[str], plain: Iterable[str]) -> Iterator[str]:
        """Lines as rows of the screen: a long one would push the beginning of the call out of sight."""
        width = self._screen.pen.width
        for line, words in zip(drawn, plain, strict=True):
            yield from [line] if cell_len(words) <= width else chop_cells(words, width)

    def _offered(self, question: Question, *, is_whole: bool) -> dict[str, str]:
        """The choices. A rule is offered only to who has seen the whole call."""
        rules = question.rules if is_whole else ()
        named = ", ".join(f"allow {revealed(rule)}" for rule in rules)
        offered = {"y": "yes, this once"}
        if rules:
            offered["s"] = f"yes, for this session: {named}"
        if self._is_edit(question):
            offered["e"] = "yes, and allow all edits in this session"
        if rules:
            offered["a"] = f"always: add to .pegboard/settings.local.json: {named}"
        if not is_whole:
            offered["v"] = "show the whole call"
        return {**offered, "n": "no", "m": "no, with a message to the model"}

    def _is_edit(self, question: Question) -> bool:
        session, tool = self.session, question.tool
        if session is None or tool is None or tool.rule_subject != "path" or tool.read_only or question.agent:
            return False
        modes = session.board.hooks.modes
        known = EDITS in modes and modes.effective(EDITS, session.board.settings).name == EDITS
        return known and session.current.mode == "default" and question.decision.layer not in ONLY_A_PERSON

    async def _carry_out(self, choice: str, question: Question) -> Decision:
        if choice in ("s", "a"):
            self._approved.update(question.rules)
            self._say(self._keep(question) if choice == "a" else "Approved for this session.")
            return Allow("Approved at the terminal, with a rule.", layer="ask", rule=question.rules[0])
        if choice == "e" and self.session:
            self._say(self.session.set_mode(EDITS) or f"The mode is {EDITS} now.")
            return Allow("Approved at the terminal, with all edits in this session.", layer="ask")
        if choice == "y":
            self._say("Approved this once.")
            return Allow("Approved at the terminal.", layer="ask")
        self.choices = []
        words = await self.read(MESSAGE) if choice == "m" else ""
        self._say("Denied.")
        return Deny(f"The user denied it and said: {words}" if words else "The user denied it.", layer="ask")

    def _keep(self, question: Question) -> str:
        """Save the rules. Those that cannot be saved still apply until the end of this session."""
        try:
            return f"Saved to {revealed(question.keep_rules())}."
        except SettingsError as error:
            return f"Saved for this session only. {revealed(str(error))}"

    def _say(self, words: str) -> None:
        self._screen.print(self._screen.pen.text(f"  {words}", "dim"))

    async def read(self, prompt: str, text: str = "", *, many_lines: bool = False) -> str:
        """What the person types, perhaps over a text that is there."""
        self._screen.borrow(text, prompt=prompt)
        self.keeps_lines = many_lines
        self._answered = anyio.Event()
        await self._answered.wait()
        return self._answer


def _choice_lines(offered: dict[str, str]) -> list[str]:
    return [f"  {key}  {words}" for key, words in offered.items()]
