"""What a certain model is shown: the pool's definitions after every `edit_definition`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pegboard.errors import DefinitionError
from pegboard.extensions import Profile
from pegboard.pool.entries import Entry, Pool

Edit = Callable[[dict[str, Any], Profile], dict[str, Any] | None]


def edited(pool: Pool, edits: Iterable[Edit], profile: Profile, loaded: Sequence[str]) -> list[dict[str, Any]]:
    """The definitions in pool order. An edit may reword a tool, never rename it: calls are found by name."""
    return [edited_definition(entry, edits, profile) for entry in pool.listed(loaded)]


def edited_definition(entry: Entry, edits: Iterable[Edit], profile: Profile) -> dict[str, Any]:
    """One of these definitions."""
    definition: dict[str, Any] = json.loads(entry.definition)
    for edit in edits:
        definition = edit(definition, profile) or definition
    if definition.get("name") != entry.name:
        raise DefinitionError(f"edit_definition renamed {entry.name} to {definition.get('name')!r}. Keep the name.")
    return definition
