"""Find deferred tools and fetch their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pegboard import Change, Context, Input, Output, Text, Tool
from pegboard_toolsearch.answers import ToolSearchOutput, remarks_on, worded
from pegboard_toolsearch.service import SERVICE, ToolIndexService

# Imports happen inside functions: importing the plugin takes a few milliseconds, and builds nothing.

if TYPE_CHECKING:
    from pegboard import Entry, ToolCatalog

MOST_RESULTS = 20
MOST_CHARACTERS = 60_000
"""How long the definitions of one answer may be together."""
LONGEST_QUERY = 4_000


class ToolSearchInput(Input):
    query: str
    """What you want to do, in a few words; or select:Name,Name for tools by name; or /regex/. A word with a plus, as
    in "+slack send", must be part of the name."""
    max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 5
    """How many tools to fetch at most, up to 20."""


class ToolSearch(Tool[ToolSearchInput, ToolSearchOutput]):
    """Find tools that are not in your list and fetch their definitions, so that you can call them.

    Deferred tools are named in a reminder, without their definitions. Search for what you want to do, or fetch tools by
    name with "select:Name,Name". The tools that are found can be called in your next message.
    """

    search_hint = "find discover fetch load deferred tools"
    rule_subject = "parameter"
    rule_parameter = "query"
    fetches_tools = True
    read_only = True
    concurrency_safe = True
    open_world = False
    max_result_chars = None  # Half a schema is of no use; the answer has a limit of its own.

    def validate_input(self, args: ToolSearchInput, /) -> str | None:
        if len(args.query) > LONGEST_QUERY:
            return f"query may have up to {LONGEST_QUERY:,} characters, got {len(args.query):,}. Say it in a few words."
        return None if args.query.strip() else "query is empty. Say what you want to do, or select:Name."

    async def call(self, args: ToolSearchInput, ctx: Context, /) -> Output[ToolSearchOutput]:
        from anyio import to_thread

        from pegboard_toolsearch.semantic import CANDIDATES, HOOK

        catalog: ToolCatalog = ctx.service("tools")
        service: ToolIndexService = ctx.service(SERVICE)
        finder = service.finder
        pool, hooks = catalog.pool, catalog.hooks(HOOK)
        deferred_only = any(entry.deferred for entry in pool.entries)
        limit = max(CANDIDATES, args.max_results) if hooks else args.max_results

        search = partial(finder.search, pool, args.query, limit, deferred_only=deferred_only)
        found = await to_thread.run_sync(search)
        if hooks and found.form == "words":
            found = await service.meanings.rerank(found, args.query, finder, hooks, args.max_results)
        value = _output(found.entries[: args.max_results], catalog, ctx)
        value.remarks += remarks_on(found, pool, deferred_only=deferred_only)
        change = Change(loaded_tools=tuple(value.fetched)) if value.fetched else None
        return Output(value, change)

    def content(self, value: ToolSearchOutput, /) -> list[Text]:
        return [Text(words) for words in worded(value)]

    def describe(self, args: ToolSearchInput, /) -> str:
        return f"Search for tools: {args.query}"


def _output(entries: Sequence[Entry], catalog: ToolCatalog, ctx: Context) -> ToolSearchOutput:
    """The definitions of what the model does not see yet, as far as they fit."""
    value, room = ToolSearchOutput(), MOST_CHARACTERS
    for entry in entries:
        if not entry.deferred or entry.name in ctx.loaded_tools:
            value.already_listed.append(entry.name)
        elif len(entry.definition) > room and value.fetched:
            value.too_long.append(entry.name)
        else:
            room -= len(entry.definition)
            value.fetched.append(entry.name)
            value.definitions += catalog.definitions([entry])
            value.guidance += [entry.record["guidance"]] if entry.record["guidance"] else []
    return value
