"""JSON Schema in few bytes: every character of it is paid on every request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

MAPS = ("properties", "patternProperties", "$defs")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames")
NOISE = ("title", "discriminator")


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The schema without titles, `null` branches and references; descriptions stay."""
    whole = model.model_json_schema()
    definitions = whole.pop("$defs", {})
    made: dict[str, Any] = _tidy(whole, definitions, ())
    made.pop("description", None)  # The prompt has said it.
    if rest := _still_referenced(made, definitions):
        made["$defs"] = {name: _tidy(definitions[name], definitions, (name,)) for name in sorted(rest)}
    return made


def _tidy(node: Any, definitions: dict[str, Any], path: tuple[str, ...]) -> Any:
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in path or _is_recursive(name, definitions):
            return node
        return _tidy(
            {**definitions[name], **{k: v for k, v in node.items() if k != "$ref"}}, definitions, (*path, name)
        )
    made = {key: value for key, value in node.items() if key not in NOISE}
    for key in MAPS:
        if isinstance(made.get(key), dict):
            made[key] = {name: _tidy(inner, definitions, path) for name, inner in made[key].items()}
    for key in LISTS:
        if key in made:
            made[key] = [_tidy(inner, definitions, path) for inner in made[key]]
    for key in SINGLE:
        if key in made:
            made[key] = _tidy(made[key], definitions, path)
    return _without_null(made)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Absent and null mean the same to a tool, so the schema speaks of absent only."""
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        node = {**branches[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    elif branches:
        node["anyOf"] = branches
    if node.get("default", 0) is None:
        del node["default"]
    if node.get("format") == "path":
        del node["format"]
    return node


def _is_recursive(name: str, definitions: dict[str, Any]) -> bool:
    seen, waiting = set[str](), [name]
    while waiting:
        for inner in _references(definitions.get(waiting.pop(), {})):
            if inner == name:
                return True
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return False


def _still_referenced(node: Any, definitions: dict[str, Any]) -> set[str]:
    found, waiting = set[str](), list(_references(node))
    while waiting:
        name = waiting.pop()
        if name not in found and name in definitions:
            found.add(name)
            waiting += _references(definitions[name])
    return found


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for inner in node for name in _references(inner)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"].rsplit("/", 1)[-1]] if isinstance(node.get("$ref"), str) else []
    return own + [name for inner in node.values() for name in _references(inner)]
