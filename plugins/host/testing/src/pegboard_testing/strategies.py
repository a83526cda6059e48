"""Inputs invented from a tool's schema: hypothesis strategies for the part of JSON Schema that tools use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pegboard import Tool
from pegboard_testing.trees import NAMES

LETTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
WORDS = st.sampled_from(["a", "alpha", "beta", "x y", "über", "1"])
MOST_ITEMS = 3
PATH_LIKE = re.compile(r"(^|_)(path|file|dir|directory|folder)s?$")

Schema = dict[str, Any]


def invented(tool: Tool[Any, Any], count: int) -> list[dict[str, Any]]:
    """Different inputs that fit the tool's schema, simple ones first; the same in every run."""
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(inputs(tool))
    def collect(value: dict[str, Any]) -> None:
        if value not in found:
            found.append(value)

    collect()
    return found


def inputs(tool: Tool[Any, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Inputs for a tool. What the input declares as a path names a file of the kit's sample tree, or none."""
    schema = tool.input_schema
    return from_schema(schema, schema.get("$defs", {}), path_fields(tool))


def path_fields(tool: Tool[Any, Any]) -> frozenset[str]:
    """The fields that hold paths, by their type or by their name."""
    fields = tool.input.model_fields.items()
    typed = {field.alias or name for name, field in fields if "Path" in repr(field.annotation)}
    named = {name for name in tool.input_schema.get("properties", {}) if PATH_LIKE.search(name)}
    return frozenset(typed | named)


def from_schema(schema: Schema, definitions: Schema, paths: frozenset[str] = frozenset()) -> st.SearchStrategy[Any]:
    """Values that fit a schema; its `examples` are among them, for text in a form that cannot be generated."""
    if examples := schema.get("examples"):
        rest = {key: value for key, value in schema.items() if key != "examples"}
        return st.one_of(st.sampled_from(examples), from_schema(rest, definitions, paths))
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return st.deferred(lambda: from_schema(definitions[name], definitions, paths))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return st.one_of([from_schema(branch, definitions, paths) for branch in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([from_schema({**schema, "type": one}, definitions, paths) for one in kind])
    if kind == "object":
        return _objects(schema, definitions, paths)
    if kind == "array":
        return _arrays(schema, definitions, paths)
    return _scalars(schema)


def _objects(schema: Schema, definitions: Schema, paths: frozenset[str]) -> st.SearchStrategy[Any]:
    properties: Schema = schema.get("properties", {})
    made = {name: _property(name, inner, definitions, paths) for name, inner in properties.items()}
    required = {name: made[name] for name in schema.get("required", ()) if name in made}
    optional = {name: strategy for name, strategy in made.items() if name not in required}
    if not made and isinstance(schema.get("additionalProperties"), dict):
        values = from_schema(schema["additionalProperties"], definitions, paths)
        return st.dictionaries(WORDS, values, max_size=MOST_ITEMS)
    return st.fixed_dictionaries(required, optional=optional)


def _property(name: str, schema: Schema, definitions: Schema, paths: frozenset[str]) -> st.SearchStrategy[Any]:
    if name not in paths:
        return from_schema(schema, definitions, paths)
    names = st.sampled_from(NAMES)
    return st.lists(names, min_size=schema.get("minItems", 1), max_size=2) if schema.get("type") == "array" else names


def _arrays(schema: Schema, definitions: Schema, paths: frozenset[str]) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*(from_schema(inner, definitions, paths) for inner in schema["prefixItems"])).map(list)
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + MOST_ITEMS), least + MOST_ITEMS)
    items = from_schema(schema.get("items", {}), definitions, paths)
    unique = repr if schema.get("uniqueItems") else None
    return st.lists(items, min_size=least, max_size=most, unique_by=unique)


def _scalars(schema: Schema) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "string":
        return _texts(schema)
    if kind == "integer":
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1001) + 1)
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 1000) + 1) - 1)
        return st.integers(low, high).map(lambda number: number - number % schema.get("multipleOf", 1))
    if kind == "number":
        return _numbers(schema)
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    return st.one_of(WORDS, st.integers(0, 9), st.booleans())


def _numbers(schema: Schema) -> st.SearchStrategy[float]:
    low: float = _first(schema, ("minimum", "exclusiveMinimum"), -1000.0)
    high: float = _first(schema, ("maximum", "exclusiveMaximum"), max(low, 1000.0))
    return st.floats(
        low,
        high,
        allow_nan=False,
        allow_subnormal=False,
        exclude_min="exclusiveMinimum" in schema,
        exclude_max="exclusiveMaximum" in schema,
    )


def _first(schema: Schema, keys: tuple[str, ...], otherwise: float) -> float:
    return next((float(schema[key]) for key in keys if key in schema), otherwise)


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    least: int = schema.get("minLength", 0)
    most: int = schema.get("maxLength", 200)
    pattern: str = schema.get("pattern", "")

    def fits(text: str) -> bool:
        return least <= len(text) <= most

    if pattern:
        return st.from_regex(pattern).filter(fits)
    free = st.text(LETTERS, min_size=least, max_size=min(most, least + 30))
    return st.one_of(WORDS.filter(fits), free) if least <= 5 else free


def wrong_values(schema: Schema) -> Sequence[object]:
    """Values that no reading of this schema takes; none where the schema takes anything."""
    kinds = _kinds(schema)
    if not kinds or "enum" in schema or "const" in schema:
        return ()
    offered: dict[str, object] = {"object": {"no": ["such", "thing"]}, "array": [["nested"]], "string": "not this"}
    return [value for kind, value in offered.items() if kind not in kinds]


def _kinds(schema: Schema) -> set[str]:
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        inner = [_kinds(branch) for branch in branches]
        return set[str]().union(*inner) if all(inner) else set()
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)
