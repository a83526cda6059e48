"""The definitions of a server's tools: checked, named for the model, and compared with what was approved."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard import DefinitionError, ExternalTool
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.names import SeenNames, tool_name
from pegboard_mcp.store import Shelf, digest

NO_SCHEMA = "x-pegboard-no-schema"
"""What a server sent in place of a schema, where it is none."""
MOST_TOOLS = 10_000
MOST_DESCRIPTION = 16_384
"""Characters of a description that reach the model."""
PLAIN = ("type", "properties", "required", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "$ref", "$defs")
"""What is left of a schema that was not approved: its shape, without the words in it."""

WORD = re.compile(r"[\w.-]{1,64}")
"""A name of a property. A longer one, or one with spaces, could say something."""
TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


@dataclass(frozen=True)
class Definition:
    """A tool of a server as it is offered here."""

    name: str
    """What the model calls it."""
    tool: str
    """What the server calls it."""
    data: Mapping[str, Any]
    """Its name, description, schema and annotations, as the server sent them."""
    approved: Mapping[str, Any] | None = None
    """The definition that was approved, where it is another one."""

    @property
    def is_changed(self) -> bool:
        """Whether a person has to look at it before it runs."""
        return self.approved is not None

    @property
    def description(self) -> str:
        """What the model reads. The words of a changed definition are withheld until a person has seen them."""
        if self.is_changed:
            return "The server has changed this tool since it was approved. The user is asked before it runs."
        said = str(self.data.get("description") or self.data.get("title") or "")
        return said if len(said) <= MOST_DESCRIPTION else f"{said[:MOST_DESCRIPTION]}…"

    @property
    def schema(self) -> dict[str, Any]:
        """The input schema for the model."""
        given = dict(self.data["inputSchema"])
        return _shape(given) if self.is_changed else given

    def difference(self) -> str:
        """What has changed since the approval, as a diff."""
        before, after = (_lines(one) for one in (self.approved or {}, self.data))
        return "\n".join(difflib.unified_diff(before, after, "approved", "now", lineterm="", n=2))


def read_definitions(
    server: ServerConfig, listed: Sequence[Mapping[str, Any]], shelf: Shelf, taken: Iterable[str] = ()
) -> tuple[list[Definition], list[str]]:
    """The tools that can be offered, and sentences about those that cannot.

    A tool that was never seen is approved with its server; one that has changed is marked.
    """
    made: dict[str, Definition] = {}
    seen = SeenNames()
    refused: list[str] = []
    names, new = set(taken), dict[str, Mapping[str, Any]]()
    shelf.look_again()
    if len(listed) > MOST_TOOLS:
        refused.append(f"The server lists {len(listed)} tools; only the first {MOST_TOOLS} are used.")
    for data in listed[:MOST_TOOLS]:
        tool = str(data.get("name", ""))
        if not server.offers(tool):
            continue
        name = tool_name(server.name, tool)
        if reason := _problem(name, tool, data, seen, names):
            refused.append(f"The tool {tool!a} is left out. {reason}")
            continue
        seen.add(tool)
        names.add(name)
        known = shelf.approved(tool)
        if known is None:
            new[tool] = data
        changed = known if known is not None and digest(known) != digest(data) else None
        made[name] = Definition(name, tool, data, changed)
    if new:
        shelf.approve(new)
    return list(made.values()), refused


def _problem(name: str, tool: str, data: Mapping[str, Any], seen: SeenNames, names: set[str]) -> str:
    if reason := seen.refusal(tool):
        return reason
    if name in names:
        return f"Its name here would be {name}, which another tool already has."
    if isinstance(schema := data.get("inputSchema"), Mapping) and NO_SCHEMA in schema:
        return f"Its input schema must be an object with the type object, got {schema[NO_SCHEMA]}."
    try:
        ExternalTool(name, "", data.get("inputSchema"), print)  # type: ignore[arg-type] # It says what is wrong.
    except DefinitionError as error:
        return str(error)
    return ""


def _shape(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        kept = {key: value for key, value in schema.items() if key in PLAIN and _is_no_speech(key, value)}
        for key in ("properties", "$defs"):
            if isinstance(kept.get(key), Mapping):
                kept[key] = {name: _shape(inner) for name, inner in kept[key].items() if WORD.fullmatch(name)}
        if isinstance(kept.get("required"), list):
            kept["required"] = [name for name in kept["required"] if isinstance(name, str) and WORD.fullmatch(name)]
        for key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
            if key in kept:
                kept[key] = _shape(kept[key])
        return kept
    return [_shape(item) for item in schema] if isinstance(schema, list) else schema


def _is_no_speech(key: str, value: Any) -> bool:
    """Whether a value of a schema is what it should be, rather than a place for words."""
    if key == "type":
        return all(isinstance(kind, str) and kind in TYPES for kind in (value if isinstance(value, list) else [value]))
    return key != "$ref" or (isinstance(value, str) and bool(re.fullmatch(r"#(/[\w.$-]{1,64}){0,4}", value)))


def _lines(definition: Mapping[str, Any]) -> list[str]:
    described = str(definition.get("description", "")).splitlines()
    rest = {key: value for key, value in definition.items() if key != "description"}
    return [*described, *json.dumps(rest, indent=1, sort_keys=True, ensure_ascii=False).splitlines()]
