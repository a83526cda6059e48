"""The form of a question as a form of the protocol, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pegboard import Choice, FormField, Question

TYPES = {"text": "string", "number": "number", "integer": "integer", "boolean": "boolean"}


def schema_of(question: Question) -> dict[str, Any]:
    """The flat JSON Schema that a client shows. What depends on an earlier answer may be left out."""
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in question.form},
        "required": [field.name for field in question.form if field.required and field.only_if is None],
    }


def filled_in(question: Question, content: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The form with what a client sent; None where it does not fit."""
    given = dict(content or {})
    for field in question.form:
        if field.multiple and isinstance(given.get(field.name), str):
            given[field.name] = [line.strip() for line in given[field.name].splitlines() if line.strip()]
    try:
        return dict(question.fill(given))
    except ValueError:
        return None


def _property(field: FormField) -> dict[str, Any]:
    made: dict[str, Any] = {"title": field.header or field.name, "description": field.question}
    if field.default is not None:
        made["default"] = field.default
    options = [{"const": choice.value, "title": _title(choice)} for choice in field.choices]
    if field.choices and not field.own_words:
        if field.multiple:
            return {**made, "type": "array", "items": {"anyOf": options}, "minItems": int(field.required)}
        return {**made, "type": "string", "oneOf": options}
    if field.choices:  # The protocol has no choice with words of one's own: the choices are named instead.
        made["description"] += "\n" + "\n".join(f"- {choice.value}: {_title(choice)}" for choice in field.choices)
    if field.multiple:
        made["description"] += "\nWrite each answer in a line of its own."
    return {**made, "type": TYPES[field.kind]}


def _title(choice: Choice) -> str:
    words = choice.title or choice.value
    return f"{words}: {choice.description}" if choice.description else words
