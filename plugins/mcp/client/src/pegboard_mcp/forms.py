"""Forms of servers: flat JSON schemas with texts, numbers, switches and choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
}


def defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A form as it is before anybody has filled it in: every field that has a default."""
    fields = (schema.get("properties") or {}).items()
    return {name: field["default"] for name, field in fields if isinstance(field, Mapping) and "default" in field}


def fits(filled: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether a form is complete, and each field has a value of its kind."""
    fields = schema.get("properties") or {}
    if any(name not in filled for name in schema.get("required") or ()):
        return False
    return all(_field_fits(value, fields.get(name, {})) for name, value in filled.items())


def _field_fits(value: Any, field: Mapping[str, Any]) -> bool:
    wanted = KINDS.get(str(field.get("type")), object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted not in (bool, object)):
        return False
    choices = field.get("enum") or [one.get("const") for one in field.get("oneOf") or ()]
    return not choices or value in choices
