"""What a tool returned must be what it said it returns; anything else is a bug, reported and not passed on."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from pegboard.contract import Tool
from pegboard.errors import ToolError


def fitting(tool: Tool[Any, Any], value: Any, who: str) -> Any:
    """The value as the tool's output type; a hook may hand in the plain data of a model."""
    wanted = tool.output
    if wanted is Any or (isinstance(wanted, type) and isinstance(value, wanted)):
        return value
    if isinstance(wanted, type) and not issubclass(wanted, BaseModel) and wanted in PLAIN:
        raise _misfit(tool, value, who)
    try:
        return _adapter(wanted).validate_python(value)
    except ValidationError:
        raise _misfit(tool, value, who) from None


PLAIN = (str, int, float, bool, bytes, list, dict)


def _misfit(tool: Tool[Any, Any], value: Any, who: str) -> ToolError:
    wanted = getattr(tool.output, "__name__", str(tool.output))
    reason = f"{who} returned {type(value).__name__} where {tool.name} promises {wanted}."
    return ToolError(reason, code="internal")


@cache
def _adapter(wanted: Any) -> TypeAdapter[Any]:
    return TypeAdapter(wanted)
