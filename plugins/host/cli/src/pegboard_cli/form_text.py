"""A question with a form in words, and what a person types into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pegboard import Choice, FormField, Question
from pegboard.wording import listed
from pegboard_cli.question_text import revealed, styled

NUMBERS = re.compile(r"\d+(?:[\s,]+\d+)*,?")


def form_lines(question: Question, *, colour: bool) -> Iterator[str]:
    """Who asks and what, without the fields. Text from others is shown after a bar, so that it cannot pose as ours."""
    who = f"{revealed(question.agent)}: " if question.agent else ""
    yield styled(f"{who}{revealed(question.call.name)} asks:", "bold", colour)
    described = question.description.removeprefix(f"{question.agent}: ")
    yield from (f"  {revealed(line)}" for line in described.splitlines())
    if question.preview:
        yield from (f"  | {revealed(line)}" for line in question.preview.split("\n"))


def title_of(choice: Choice) -> str:
    """What a person reads of a choice, in one line."""
    words = revealed(choice.title or choice.value)
    return f"{words}: {revealed(choice.description)}" if choice.description else words


def field_lines(field: FormField) -> Iterator[str]:
    """A field with its numbered choices and their previews."""
    yield revealed(f"{field.header}: {field.question}" if field.header else field.question)
    for number, choice in enumerate(field.choices, 1):
        yield f"  {number}  {title_of(choice)}"
        if choice.preview:
            yield from (f"     | {revealed(line)}" for line in choice.preview.split("\n"))
    if field.own_words:
        yield f"  {len(field.choices) + 1}  {revealed(field.own_words)}"


def asks_for_own_words(field: FormField, typed: str) -> bool:
    """Whether what was typed is the number of the choice that stands for the person's own words."""
    return bool(field.own_words) and typed.strip() == str(len(field.choices) + 1)


def value_of(field: FormField, typed: str) -> Any:
    """The value that a person means; a `ValueError` says what can be typed."""
    words = typed.strip()
    if field.kind == "boolean":
        if words.lower() not in ("y", "yes", "n", "no"):
            raise ValueError("Please answer y or n.")
        return words.lower()[0] == "y"
    if field.kind in ("number", "integer"):
        try:
            return int(words) if field.kind == "integer" else float(words)
        except ValueError:
            raise ValueError(f"Please type {'a whole number' if field.kind == 'integer' else 'a number'}.") from None
    return _chosen(field, words) if field.choices else typed.strip("\n")


def _chosen(field: FormField, words: str) -> Any:
    """By numbers, by the titles, or in the person's own words."""
    found: list[str] = []
    by_title = {(choice.title or choice.value).lower(): choice.value for choice in field.choices}
    if words.lower() in by_title:
        found = [by_title[words.lower()]]
    elif NUMBERS.fullmatch(words):
        numbers = [int(number) for number in re.findall(r"\d+", words)]
        if all(1 <= number <= len(field.choices) for number in numbers):
            found = list(dict.fromkeys(field.choices[number - 1].value for number in numbers))
    elif field.own_words and words:
        found = [words]
    if not found or (len(found) > 1 and not field.multiple):
        offered = listed(str(number) for number in range(1, len(field.choices) + 1))
        several = ", several with commas between them" if field.multiple else ""
        raise ValueError(f"Please type one of the numbers {offered}{several}{', or words' if field.own_words else ''}.")
    return found if field.multiple else found[0]
