"""Forms of servers: flat JSON schemas with texts, numbers, switches and choices, as forms for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from pegboard import Choice, FormField

KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} choices",
    "maxItems": "at most {} choices",
}
FORMATS = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.com",
    "date": "a date such as 2026-07-28",
    "date-time": "a time such as 2026-07-28T12:00:00Z",
}
LONG = 200
"""A text that may have more characters than this is worth an editor."""

Schema = Mapping[str, Any]


class FormError(ValueError):
    """A form that cannot be put to a person."""


def form_of(schema: Schema) -> tuple[FormField, ...]:
    """The fields of a form; `FormError` for one that is not flat."""
    fields = schema.get("properties") or {}
    required = schema.get("required") or ()
    if not isinstance(fields, Mapping) or not all(isinstance(field, Mapping) for field in fields.values()):
        raise FormError("Its properties must be objects.")
    return tuple(_field(name, field, name in required) for name, field in fields.items())


def problem_in(filled: Mapping[str, Any], schema: Schema) -> str:
    """What is wrong with a form that is filled in, beyond the kinds of its fields; empty if nothing is."""
    for name, field in (schema.get("properties") or {}).items():
        value = filled.get(name)
        if value is not None and (wanted := next(_missed(value, field), "")):
            return f"{name!r} must be {wanted}."
    return ""


def _field(name: str, field: Schema, required: bool) -> FormField:
    kind = str(field.get("type", "string"))
    several = kind == "array"
    item = field.get("items", {}) if several else field
    choices = tuple(_choices(item if isinstance(item, Mapping) else {}))
    if kind not in KINDS and not (several and choices):
        raise FormError(f"The field {name!r} is of the type {kind}, which a form cannot have.")
    title, words = str(field.get("title") or ""), str(field.get("description") or "")
    limits = [*(words.format(field[key]) for key, words in BOUNDS.items() if key in field)]
    limits += [FORMATS[field["format"]]] if field.get("format") in FORMATS else []
    question = words or title or name
    return FormField(
        name,
        f"{question} ({', '.join(limits)})" if limits else question,
        header=title if words and title else "",
        kind=KINDS.get(kind, "text"),  # type: ignore[arg-type]
        choices=choices,
        multiple=several,
        default=field.get("default"),
        required=required,
        many_lines=kind == "string" and not choices and field.get("maxLength", 0) > LONG,
    )


def _choices(field: Schema) -> Iterator[Choice]:
    """Plain values, values with titles, or values with the older list of names beside them."""
    for one in field.get("oneOf") or field.get("anyOf") or ():
        if isinstance(one, Mapping) and isinstance(one.get("const"), str):
            yield Choice(one["const"], str(one.get("title") or ""))
    values: Sequence[Any] = field.get("enum") or ()
    titles = field.get("enumNames") or ()
    for number, value in enumerate(values):
        yield Choice(str(value), str(titles[number]) if number < len(titles) else "")


def _missed(value: Any, field: Schema) -> Iterator[str]:
    """The limits of a field that a value does not keep."""
    size = value if isinstance(value, (int, float)) else len(value)
    for key, words in BOUNDS.items():
        limit = field.get(key)
        if isinstance(limit, (int, float)) and (size < limit if key.startswith("min") else size > limit):
            yield words.format(limit)
    wanted = field.get("format")
    if wanted in FORMATS and isinstance(value, str) and not _has_format(value, str(wanted)):
        yield FORMATS[wanted]


def _has_format(value: str, wanted: str) -> bool:
    try:
        match wanted:
            case "email":
                return bool(re.fullmatch(r"[^@\s]+@[^@\s]+", value))
            case "uri":
                return bool(urlsplit(value).scheme)
            case "date":
                return bool(date.fromisoformat(value))
            case _:
                return bool(datetime.fromisoformat(value))
    except ValueError:
        return False
