"""What a certain model is shown: the pool's definitions after every `edit_definition`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from pegboard.errors import DefinitionError
from pegboard.extensions import Profile
from pegboard.pool.entries import Pool

Edit = Callable[[dict[str, Any], Profile], dict[str, Any] | None]


def edited(pool: Pool, edits: Iterable[Edit], profile: Profile, loaded: frozenset[str]) -> list[dict[str, Any]]:
    """The definitions in pool order. An edit may reword a tool, never rename it: calls are found by name."""
    made = []
    for entry in pool.listed(loaded):
        definition = json.loads(entry.definition)
        for edit in edits:
            definition = edit(definition, profile) or definition
        if definition.get("name") != entry.name:
            raise DefinitionError(f"edit_definition renamed {entry.name} to {definition.get('name')!r}. Keep the name.")
        made.append(definition)
    return made
