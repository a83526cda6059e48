"""Fill in the form of a question line by line: where there is nothing but lines, this works."""

from __future__ import annotations

import os
import sys
from typing import Any

from pegboard import Allow, Answer, Decision, Deny, FormField, Question
from pegboard_cli.form_text import asks_for_own_words, field_lines, form_lines, value_of
from pegboard_cli.question_text import page, revealed
from pegboard_cli.typed import Typed

END = "."
DECLINED = "The user did not answer."


class _DeclinedError(Exception):
    """The person does not want to answer."""


def ask_form(question: Question, typed: Typed) -> Decision | Answer:
    """Show the question, and ask for one field after another. No answer where one is needed declines."""
    colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    page(form_lines(question, colour=colour), sys.stderr, typed)
    filled: dict[str, Any] = {}
    try:
        for field in question.form:
            if field.is_asked(filled) and (value := _ask_field(field, typed)) is not None:
                filled[field.name] = value
    except _DeclinedError:
        return Deny(DECLINED, layer="ask")
    return Answer(Allow("Answered at the terminal.", layer="ask"), input=filled)


def _ask_field(field: FormField, typed: Typed) -> Any:
    page(field_lines(field), sys.stderr, typed)
    while True:
        words = _read_text(field, typed) if field.many_lines else _read(_prompt(field), typed)
        if not words.strip():
            if field.required and field.default is None:
                raise _DeclinedError
            return field.default
        if asks_for_own_words(field, words):
            words = _read("Your answer: ", typed)
            if not words.strip():
                continue
        try:
            value = value_of(field, words)
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
            continue
        if not (problem := field.problem(value)):
            return value
        sys.stderr.write(f"{revealed(problem)}\n")


def _prompt(field: FormField) -> str:
    if field.kind == "boolean":
        return f"[{'Y/n' if field.default else 'y/N' if field.default is False else 'y/n'}] "
    without = "Enter declines" if field.required else "Enter leaves it out"
    if field.default is not None:
        without = f"Enter for {revealed(str(field.default))}"
    what = "Numbers" if field.multiple else "Number" if field.choices else "Answer"
    return f"{what}{' or your own words' if field.choices and field.own_words else ''} ({without}): "


def _read(prompt: str, typed: Typed) -> str:
    """A line; the end of the input declines."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = typed.readline()
    if not line:
        sys.stderr.write("\n")
        raise _DeclinedError
    return line.rstrip("\n")


def _read_text(field: FormField, typed: Typed) -> str:
    """Several lines, up to one that is a dot."""
    sys.stderr.write(f"Type the text. End it with a line that has only a {END!r}; nothing else leaves it as it is.\n")
    lines: list[str] = []
    while (line := _read("", typed)) != END:
        lines.append(line)
    return "\n".join(lines)
