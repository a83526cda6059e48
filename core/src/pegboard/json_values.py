"""Values of tools as JSON: whatever a tool returns can be shown, and bytes that are no text become base64."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json, to_jsonable_python


def jsonable(value: object) -> Any:
    """The value as plain data."""
    try:
        return to_jsonable_python(value, fallback=str)
    except ValueError:  # A model with bytes in it insists on text; opened up, it does not.
        return to_jsonable_python(_opened(value), bytes_mode="base64", fallback=str)


def json_text(value: object) -> str:
    """The value as JSON text."""
    try:
        return to_json(value, fallback=str).decode()
    except ValueError:
        return to_json(_opened(value), bytes_mode="base64", fallback=str).decode()


def _opened(value: object) -> Any:
    return TypeAdapter[Any](Any).dump_python(value, by_alias=True)
