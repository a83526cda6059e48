"""What finding a tool costs, against one pass over all names with `rapidfuzz`.

The tools are made up, 100 to 10,000 of them. With `--data FOLDER` recorded sets are searched too: the folder has for
each set of tools `SET/tools.jsonl` (name, description, server, params, tiers) and `SET/queries.dev.jsonl` (query, gold,
mode, split), and how many wanted tools are among the first five is told in a note.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz, process

from pegboard.hosting import Entry, Pool
from pegboard_toolsearch.finder import ToolFinder

from .harness import CPU, Comparison, Pace, Samples, cpu, interleave

COUNTS = (100, 1_000, 10_000)
SETS = ("mcp/200", "mcp/1k", "mcp/full", "metatool/200", "api/1k", "api/full")
OWNER: Any = {"dist": "benchmark", "version": "", "entry": "benchmark.tools", "family": "benchmark"}


class ServedEntry(Entry):
    """A tool whose server is known apart from its name."""

    __slots__ = ("_server",)

    def __init__(self, record: Any, server: str) -> None:
        super().__init__(record, OWNER, "dynamic")
        self._server = server

    @property
    def server(self) -> str:
        """The server in the data."""
        return self._server


def entry_of(tool: dict[str, Any]) -> Entry:
    """A tool of the data as the pool has it."""
    properties = {name: {"description": words} for name, words in (tool.get("params") or {}).items()}
    schema = {"type": "object", "properties": properties}
    definition = {"name": tool["name"], "description": tool.get("description", ""), "input_schema": schema}
    record = {"name": tool["name"], "aliases": [], "hint": tool.get("hint", "")}
    return ServedEntry({**record, "definition": json.dumps(definition).encode()}, tool.get("server", ""))


def build(tools: Sequence[dict[str, Any]]) -> tuple[ToolFinder, Pool]:
    """An index of these tools."""
    finder, pool = ToolFinder(), Pool([entry_of(tool) for tool in tools])
    finder.follow(pool)
    return finder, pool


def search(index: tuple[ToolFinder, Pool], query: str, k: int) -> list[str]:
    """The names of the tools that are found, best first."""
    finder, pool = index
    return [entry.name for entry in finder.search(pool, query, k).entries]


def load(folder: Path, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The tools of a set, and the queries that can be answered with them."""
    family, tier = name.split("/")
    tools = [tool for tool in _lines(folder / family / "tools.jsonl") if tier in tool["tiers"]]
    names, kept = {tool["name"] for tool in tools}, list[dict[str, Any]]()
    for query in _lines(folder / family / "queries.dev.jsonl"):
        gold = [name for name in query["gold"] if name in names]
        if gold and (query["mode"] == "any" or len(gold) == len(query["gold"])):
            kept.append({**query, "gold": gold})
    return tools, kept


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def recall(query: dict[str, Any], found: Sequence[str]) -> float:
    """The share of the wanted tools that was found; for alternatives, whether one of them was."""
    hits = len(set(query["gold"]) & set(found))
    return float(hits > 0) if query["mode"] == "any" else hits / len(query["gold"])


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Searching and indexing tools that are made up, and recorded sets where there are any."""
    yield from made_up(pace)
    for name in SETS if pace.data else ():
        assert pace.data
        yield recorded(pace.data, name)


def made_up(pace: Pace) -> Iterator[Comparison]:
    """More and more tools, asked for with three words."""
    counts = COUNTS[: pace.size(len(COUNTS), 2)]
    tools = tools_of(counts[-1])
    indexes = {count: build(tools[:count]) for count in counts}
    names = [tool["name"] for tool in tools]
    queries = [" ".join(tool["description"].split()[2:5]) for tool in tools[:: len(tools) // 20]]
    rounds = pace.rounds(9)
    ours = {f"{count:,} tools": partial(search_all, indexes[count], queries) for count in counts}
    theirs = {f"rapidfuzz, {count:,}": partial(fuzzy_all, names[:count], queries) for count in counts}
    samples = interleave({**theirs, **ours}, rounds)
    points = {f"{count:,} tools": float(count) for count in counts}
    trend = {name: samples[name] for name in ours}
    first = next(iter(trend))
    yield Comparison("toolsearch/tools", "one search", trend, first, CPU, axis="tools", points=points)
    pair = {"rapidfuzz": samples["rapidfuzz, 1,000"], "ToolSearch": samples["1,000 tools"]}
    yield Comparison("toolsearch/query", "one search among 1,000 tools", pair, "rapidfuzz", CPU)
    cases = {
        "JSON there and back": partial(cpu, partial(parse_all, tools[:1_000])),
        "index": partial(cpu, lambda: build(tools[:1_000])),
    }
    built = interleave(cases, rounds)
    yield Comparison("toolsearch/index", "indexing 1,000 tools", built, "JSON there and back", CPU)


def tools_of(count: int) -> list[dict[str, Any]]:
    """Tools with names and descriptions out of a small vocabulary."""
    dice = random.Random(1)
    verbs, nouns = [f"verb{n}" for n in range(60)], [f"noun{n}" for n in range(400)]
    made = []
    for number in range(count):
        verb, noun, other = dice.choice(verbs), dice.choice(nouns), dice.choice(nouns)
        description = f"{verb} the {noun} of {other}, number {number}. Use it when a {noun} needs {other}."
        params = {"path": f"Which {noun} to {verb}.", "limit": "How many."}
        made.append({"name": f"{verb}_{noun}_{number}", "description": description, "params": params})
    return made


def parse_all(tools: Sequence[dict[str, Any]]) -> None:
    """Write and read every tool as JSON."""
    for tool in tools:
        json.loads(json.dumps(tool))


def search_all(index: tuple[ToolFinder, Pool], queries: Sequence[str]) -> float:
    return cpu(lambda: [search(index, query, 5) for query in queries]) / len(queries)


def fuzzy_all(names: Sequence[str], queries: Sequence[str]) -> float:
    return cpu(lambda: [fuzzy(names, query) for query in queries]) / len(queries)


def fuzzy(names: Sequence[str], query: str) -> list[str]:
    return [key for key, *_ in process.extract(query, names, scorer=fuzz.WRatio, limit=5)]


def recorded(folder: Path, name: str) -> Comparison:
    """A recorded set: the time of each query, and how often what was wanted was among the first five."""
    tools, queries = load(folder, name)
    index, names = build(tools), [tool["name"] for tool in tools]
    samples: Samples = {"rapidfuzz": [], "ToolSearch": []}
    shares: Samples = {"rapidfuzz": [], "ToolSearch": []}
    for query in queries:
        found: dict[str, list[str]] = {}
        acts = {
            "rapidfuzz": partial(fuzzy, names, query["query"]),
            "ToolSearch": partial(search, index, query["query"], 5),
        }
        for case, act in acts.items():
            samples[case].append(cpu(lambda c=case, a=act, f=found: f.update({c: a()})))  # type: ignore[misc]
            shares[case].append(recall(query, found[case]))
    said = ", ".join(f"{case} {sum(each) / len(each):.1%}" for case, each in shares.items())
    title = f"one search among the {len(tools):,} tools of {name}"
    return Comparison(
        f"toolsearch/{name}", title, samples, "rapidfuzz", CPU, notes=[f"wanted tools among five: {said}"]
    )
