"""Tools that an application hands in at run time: a JSON Schema and a callback."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import ConfigDict, Field, create_model

from pegboard import Context, DefinitionError, Input, Tool
from pegboard.hosting import TOOL_NAME

__all__ = ["ExternalTool"]

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}

Callback = Callable[[dict[str, Any], Context], Any | Awaitable[Any]]


class ExternalTool(Tool[Input, Any]):
    """A tool with a hand-written schema. Names, required fields and top-level types are checked, the rest is yours."""

    def __init__(
        self,
        name: str,
        description: str,
        input_schema: Mapping[str, Any],
        callback: Callback,
        *,
        overrides_built_in: bool = False,
        **options: Any,
    ) -> None:
        check_schema(name, input_schema)
        if not callable(callback):
            raise DefinitionError(f"{name}: the callback must be callable, got {callback!r}.")
        self.name, self.prompt = name, description
        self.overrides_built_in = overrides_built_in
        self._schema = json.loads(json.dumps(input_schema))
        self._callback = callback
        self.output = Any
        self.is_async = inspect.iscoroutinefunction(callback)
        for option, value in options.items():
            if not hasattr(type(self), option):
                raise DefinitionError(f"{name}: there is no tool option {option!r}.")
            setattr(self, option, value)

    @cached_property
    def input(self) -> type[Input]:  # type: ignore[override]
        """The input class, built at the first call: those of a thousand tools would take a second."""
        return input_model(self.name, self._schema)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema as it was handed in."""
        return self._schema  # type: ignore[no-any-return]

    def call(self, args: Input, ctx: Context, /) -> Any:
        """Hand the input to the callback."""
        return self._callback(args.model_dump(mode="json", by_alias=True, exclude_unset=True), ctx)


def check_schema(name: str, schema: Any) -> None:
    """Refuse a schema that no provider would take, with the reason."""
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise DefinitionError(f"{name!r} is not a legal tool name. Use 1 to 64 letters, digits, _ and -.")
    if not isinstance(schema, Mapping):
        raise DefinitionError(f"{name}: the input schema must be an object, got {type(schema).__name__}.")
    if schema.get("type") != "object":
        raise DefinitionError(f'{name}: the input schema must have "type": "object", got {schema.get("type")!r}.')
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not all(isinstance(inner, Mapping) for inner in properties.values()):
        raise DefinitionError(f"{name}: properties must map each name to a schema.")
    if not isinstance(required, list) or not all(isinstance(item, str) for item in required):
        raise DefinitionError(f"{name}: required must be a list of names.")
    if missing := [item for item in required if item not in properties]:
        raise DefinitionError(f"{name}: {missing[0]!r} is required but not among the properties.")
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{name}: the input schema cannot be written as JSON: {error}.") from None


def input_model(name: str, schema: Mapping[str, Any]) -> type[Input]:
    """An input class with the schema's names and top-level types, so that faults are worded as for any other tool."""
    required = set(schema.get("required", ()))
    fields: dict[str, Any] = {}
    for number, (key, inner) in enumerate(schema.get("properties", {}).items()):
        kind = inner.get("type")
        wanted = TYPES.get(kind, Any) if isinstance(kind, str) else Any
        fields[f"field_{number}"] = (
            wanted if key in required else wanted | None,
            Field(default=... if key in required else None, alias=key),
        )
    extra: Literal["forbid", "allow"] = "forbid" if schema.get("additionalProperties") is False else "allow"
    base = type(f"{name}Base", (Input,), {"model_config": ConfigDict(extra=extra, use_attribute_docstrings=False)})
    return create_model(f"{name}Input", __base__=base, **fields)
