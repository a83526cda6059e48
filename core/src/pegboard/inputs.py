"""What a model sends to a tool: the `Input` base, its schema in few bytes, and validation that explains itself."""

from __future__ import annotations

import re
from functools import partial
from math import isfinite
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json, to_json

from pegboard.calls import JSON
from pegboard.errors import ToolError
from pegboard.paths import paths_of
from pegboard.sentences import explain


class Input(BaseModel):
    """What the model sends. Unknown keys are refused; a docstring under a field is its description."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        defer_build=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


def validate(tool: str, model: type[Input], raw: str | bytes | JSON) -> tuple[Input, tuple[str, ...]]:
    """The input as the tool wants it, and what had to be read with good will to get there.

    Well-formed input costs one strict pass. Numbers and booleans that arrive as text, and `null` for what may be
    left out, are repaired and noted. Everything else is a `ToolError` with a sentence for each fault.
    """
    text = raw if isinstance(raw, (str, bytes)) else _encode(tool, raw)
    if not _suspicious(text):
        try:
            args: Input = model.__pydantic_validator__.validate_json(text, strict=True)
        except ValidationError:
            return _with_good_will(tool, model, text)
        if len(text) > LONGEST_PATH:
            _refuse_impossible_paths(tool, args)
        return args, ()
    return _with_good_will(tool, model, text)


def _encode(tool: str, raw: JSON) -> bytes:
    try:
        return to_json(dict(raw))
    except (TypeError, ValueError) as error:
        raise ToolError(f"{tool}: the input cannot be written as JSON: {error}") from None


UNUSUAL = r"null|undefined|\\u0000|NaN|Infinity"
"""What the quick pass would take too lightly."""
UNUSUAL_TEXT, UNUSUAL_BYTES = re.compile(UNUSUAL), re.compile(UNUSUAL.encode())


def _suspicious(text: str | bytes) -> bool:
    found = UNUSUAL_BYTES.search(text) if isinstance(text, bytes) else UNUSUAL_TEXT.search(text)
    return found is not None


def _with_good_will(tool: str, model: type[Input], text: str | bytes) -> tuple[Input, tuple[str, ...]]:
    data = _parse(tool, text)
    notes = _drop_absent(model, data)
    check = partial(model.__pydantic_validator__.validate_json, strict=True)  # Nested models are strict too.
    try:
        args = check(to_json(data))
    except ValidationError as error:
        repaired = _repair(data, error)
        if not repaired:
            raise ToolError(explain(tool, model, error)) from None
        notes += repaired
        try:
            args = check(to_json(data))
        except ValidationError as still:
            raise ToolError(explain(tool, model, still)) from None
    _refuse_impossible_paths(tool, args)
    return args, tuple(notes)


LONGEST_PATH = 4096


def _refuse_impossible_paths(tool: str, args: Input) -> None:
    for name, path in paths_of(args):
        text = str(path)
        if "\0" in text:
            raise ToolError(f"{tool}: {name} contains a NUL byte, which is not allowed in a path.")
        if len(text) > LONGEST_PATH:
            raise ToolError(f"{tool}: {name} is {len(text)} characters long; the limit for a path is {LONGEST_PATH}.")


def _parse(tool: str, text: str | bytes) -> dict[str, Any]:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ToolError(f"{tool}: the input is not valid JSON: {error}.") from None
    if not isinstance(data, dict):
        raise ToolError(f"{tool}: the input must be a JSON object, got {_kind(data)}.")
    # 1e999 is valid JSON and becomes infinity, which cannot be written as JSON again.
    if not _is_finite(data):
        raise ToolError(f"{tool}: the input contains a number that is too large. Use a smaller one.")
    return data


def _is_finite(data: Any) -> bool:
    """Whether all numbers can be written as JSON: 1e999 is read as infinity."""
    if isinstance(data, float):
        return isfinite(data)
    items = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return all(map(_is_finite, items))


def _kind(data: object) -> str:
    names: dict[type, str] = {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(data), "null")


ABSENT = (None, "null", "undefined")


def _drop_absent(model: type[Input], data: dict[str, Any]) -> list[str]:
    """Models write null for what they mean to leave out; a field that may be left out is then absent."""
    notes = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        if not field.is_required() and key in data and data[key] in ABSENT and data.pop(key) is not None:
            notes.append(f"{key}: treated as missing")
    return notes


def _repair(data: dict[str, Any], error: ValidationError) -> list[str]:
    """Read numbers and booleans out of text where a number or boolean was wanted; change `data` in place."""
    notes = []
    for fault in error.errors(include_url=False, include_context=False):
        found = _holder(data, fault["loc"])
        if found is None:
            continue
        holder, key = found
        value = holder[key]
        if value in ABSENT and isinstance(holder, dict):
            del holder[key]
            notes.append(f"{key}: treated as missing")
            continue
        better = _meaning(fault["type"], value)
        if better is not None:
            holder[key] = better
            notes.append(f"{key}: {value!r} read as {better!r}")
    return notes


def _holder(data: Any, loc: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Where in the data an error sits; steps that only name a member of a union are passed over."""
    found = None
    for step in loc:
        in_list = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if in_list or (isinstance(data, dict) and step in data):
            found, data = (data, step), data[step]
    return found


INTEGER = re.compile(r"\s*-?\d{1,18}\s*", re.ASCII)
NUMBER = re.compile(r"\s*-?\d{1,18}(\.\d+)?\s*", re.ASCII)


def _meaning(fault: str, value: object) -> object:
    if fault.startswith("int") and isinstance(value, str) and INTEGER.fullmatch(value):
        return int(value)
    if fault.startswith("int") and isinstance(value, float) and value.is_integer():
        return int(value)
    if fault.startswith("float") and isinstance(value, str) and NUMBER.fullmatch(value):
        return float(value)
    if fault.startswith("bool") and isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None
