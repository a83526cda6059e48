"""Fill in the form of a question: menus for choices, the input line for words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Allow, Answer, Decision, Deny, FormField, Question
from pegboard_cli import form_lines, revealed, typed_value
from pegboard_terminal.menu import Item, Menu
from pegboard_terminal.screen import Screen

if TYPE_CHECKING:
    from pegboard_terminal.question import Asking

KEEPS_LINES = "Ctrl-J begins a line, Ctrl-X Ctrl-E opens your editor, Enter sends it, Ctrl-D in an empty text declines."
LONG = 60
"""How much of an answer is shown again."""


class _DeclinedError(Exception):
    """The person does not want to answer."""


class Form:
    """One field after another."""

    def __init__(self, asking: Asking, screen: Screen) -> None:
        self._asking, self._screen = asking, screen

    async def fill(self, question: Question) -> Decision | Answer:
        """What the person fills in; a denial of one who does not want to answer."""
        lines = form_lines(question, colour="NO_COLOR" not in os.environ)
        self._screen.print(["", *lines])
        await self._asking.quiet()
        filled: dict[str, Any] = {}
        try:
            for field in question.form:
                if field.is_asked(filled) and (value := await self._ask(field)) is not None:
                    filled[field.name] = value
                    self._say(f"{f'{field.header}:' if field.header else field.question} {_shown(field, value)}")
        except _DeclinedError:
            self._say("Not answered.")
            return Deny("The user did not answer.", layer="ask")
        return Answer(Allow("Answered at the terminal.", layer="ask"), input=filled)

    async def _ask(self, field: FormField) -> Any:
        if field.choices or field.kind == "boolean":
            return await self._choose(field)
        return await self._write(field, field.question)

    async def _choose(self, field: FormField) -> Any:
        """One of the choices, several, or the person's own words."""
        choices = [(choice.value, Item(revealed(choice.title or choice.value), revealed(choice.description),
                    _harmless(choice.preview))) for choice in field.choices]  # fmt: skip
        if field.kind == "boolean":
            choices = [(True, Item("Yes")), (False, Item("No"))]  # type: ignore[list-item]
        items = [item for _, item in choices] + ([Item(revealed(field.own_words))] if field.own_words else [])
        while True:
            menu = Menu(_asked(field), items, multiple=field.multiple, marked=_marked(field, [v for v, _ in choices]))
            chosen = await self._asking.choose(menu)
            if chosen is None:
                raise _DeclinedError
            values = [choices[number][0] for number in chosen if number < len(choices)]
            if len(values) < len(chosen):
                words = await self._asking.read("Your answer: ")
                if not words:
                    continue
                values.append(words)
            return values if field.multiple else values[0]

    async def _write(self, field: FormField, prompt: str) -> Any:
        """Words or a number; what is there already can be edited."""
        default = "" if field.default is None else str(field.default)
        while True:
            if field.many_lines:
                self._say(KEEPS_LINES)
            typed = await self._asking.read(f"{prompt} ", default, many_lines=field.many_lines)
            if not typed:
                if field.required:
                    raise _DeclinedError
                return None
            try:
                value = typed_value(field, typed)
            except ValueError as error:
                self._warn(str(error))
                continue
            if not (problem := field.problem(value)):
                return value
            self._warn(problem)

    def _say(self, words: str) -> None:
        self._screen.print(self._screen.pen.text(f"  {words}", "dim"))

    def _warn(self, words: str) -> None:
        self._screen.print(self._screen.pen.text(words, "yellow"))


def _asked(field: FormField) -> str:
    return revealed(f"{field.header}: {field.question}" if field.header else field.question)


def _marked(field: FormField, values: Sequence[Any]) -> list[int]:
    """The numbers of the default."""
    wanted = field.default if isinstance(field.default, list) else [field.default]
    return [number for number, value in enumerate(values) if value in wanted]


def _shown(field: FormField, value: Any) -> str:
    """An answer again, in the words that the person chose it by."""
    titles = {choice.value: choice.title or choice.value for choice in field.choices}
    words = [titles.get(one, str(one)) for one in (value if isinstance(value, list) else [value])]
    first, *rest = ", ".join(words).split("\n")
    return f"{first[:LONG]}…" if rest or len(first) > LONG else first


def _harmless(text: str) -> str:
    return "\n".join(revealed(line) for line in text.split("\n")) if text else ""
