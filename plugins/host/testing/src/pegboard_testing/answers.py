"""The person who is asked, in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pegboard import Allow, Answer, Decision, FormField, Question, hookimpl

FILLED: dict[str, Any] = {"text": "text", "number": 1.5, "integer": 1, "boolean": True}


class Answers:
    """Gives one answer to everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.decision: Decision | Answer | None = None
        self.asked: list[Question] = []

    @hookimpl
    def ask_user(self, question: Question) -> Decision | Answer | None:
        """Answer as the test wants; None means that there is no one to ask. A yes takes the first choice of a form."""
        self.asked.append(question)
        if question.form and isinstance(self.decision, Allow):
            return Answer(self.decision, input=first_choices(question.form))
        return self.decision


def first_choices(form: Sequence[FormField]) -> dict[str, Any]:
    """A form filled in with the first choice, the default, or anything of the right kind."""
    filled: dict[str, Any] = {}
    for field in form:
        value = field.choices[0].value if field.choices else FILLED[field.kind]
        filled[field.name] = field.default if field.default is not None else [value] if field.multiple else value
    return filled
