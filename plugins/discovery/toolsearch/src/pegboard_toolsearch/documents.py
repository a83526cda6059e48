"""What an index reads of a tool, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pegboard import Entry

SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z(\[*`<-]|\s*\n)|\n")


class Document(NamedTuple):
    """A tool as text."""

    name: str
    server: str = ""
    hint: str = ""
    description: str = ""
    arguments: Mapping[str, str] = {}
    """The description of each argument by its name."""

    @property
    def opening(self) -> str:
        """The first sentence of the description: what the tool does, before how it does it."""
        end = SENTENCE_END.search(self.description)
        return self.description[: end.end()] if end else self.description


def document_of(entry: Entry) -> Document:
    """The text of a tool in the pool; nothing is imported for it."""
    definition = _read(entry.definition)
    properties = definition["input_schema"].get("properties", {})
    arguments = {
        name: text if isinstance(text := schema.get("description", ""), str) else ""
        for name, schema in properties.items()
        if isinstance(schema, dict)
    }
    return Document(entry.name, entry.server, entry.record["hint"], str(definition["description"]), arguments)


def _read(definition: bytes) -> Any:
    from pydantic_core import from_json  # Half the time of json for thousands of tools; loaded with the first input.

    try:
        return from_json(definition)
    except ValueError:  # Half of a surrogate pair, which some servers send, is no error to json.
        return json.loads(definition)
