"""What the model reads of a search."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from pegboard import Pool
from pegboard.wording import listed

MOST_SERVERS = 30


class ToolSearchOutput(BaseModel):
    model_config = ConfigDict(defer_build=True)

    fetched: list[str] = []
    """The tools that the model can see from now on, best first."""
    definitions: list[dict[str, Any]] = []
    already_listed: list[str] = []
    """Tools that were found and that the model sees already."""
    too_long: list[str] = []
    """Tools that were found but whose definitions no longer fitted."""
    guidance: list[str] = []
    """What the fetched tools say about when to use them."""
    remarks: list[str] = []


def worded(value: ToolSearchOutput) -> list[str]:
    """The definitions, and apart from them what there is to say: a provider may put references in their place."""
    if not value.fetched:
        return [" ".join(_remarks(value)) or "No tool was found."]
    head = "Fetched 1 tool. You can call it from now on:"
    if len(value.fetched) > 1:
        head = f"Fetched {len(value.fetched)} tools, the best match first. You can call them from now on:"
    first = "\n".join([head, *(json.dumps(made, ensure_ascii=False) for made in value.definitions)])
    rest = "\n".join([*value.guidance, " ".join(_remarks(value))]).strip()
    return [first, rest] if rest else [first]


def _remarks(value: ToolSearchOutput) -> list[str]:
    said = list(value.remarks)
    if value.already_listed:
        said.append(f"You can already call {listed(value.already_listed)}.")
    if value.too_long:
        said.append(f"Left out because of their length: {', '.join(value.too_long)}. Fetch them with select:.")
    return said


def servers_of(pool: Pool, *, deferred_only: bool) -> str:
    """The servers and families that there are, with how many tools each has, as a sentence."""
    counts = Counter(entry.server for entry in pool.entries if entry.deferred or not deferred_only)
    if not counts:
        return "There are no tools to search."
    most = [f"{server} ({count})" for server, count in sorted(counts.most_common(MOST_SERVERS))]
    more = f" and {len(counts) - len(most)} more" if len(counts) > len(most) else ""
    return f"Tools come from {', '.join(most)}{more}."


def remarks_on(found: Any, pool: Pool, *, deferred_only: bool) -> list[str]:
    """What went wrong with a search, as sentences."""
    said = [f"{name}: {reason}" for name, reason in found.missing.items()]
    said += [f"Read {word!r} as {meant!r}." for word, meant in found.repaired.items()]
    if found.unknown:
        said.append(f"No tool mentions {_quoted(found.unknown)}.")
    if not found.entries and found.form != "select":
        said.append("No tool fits this query.")
    if found.is_weak or not found.entries:
        said.append(servers_of(pool, deferred_only=deferred_only))
    return said


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(repr(word) for word in words)
