"""How well and how fast tools are found, against a folder of tools and queries.

    python benchmarks/toolsearch.py FOLDER [--set mcp/1k] [--all]

The folder has for each set of tools `SET/tools.jsonl` (name, description, server, params, tiers) and
`SET/queries.dev.jsonl` (query, gold, mode, split). Prints the recall among the first five, and times as shares of the
time of one pass over all names with `rapidfuzz.process.extract`, so that machines can be compared.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rapidfuzz import fuzz, process

from pegboard.hosting import Entry, Pool
from pegboard_toolsearch.finder import ToolFinder

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


def cpu(act: Callable[[], object]) -> float:
    """How many milliseconds of this thread something takes."""
    began = time.thread_time()
    act()
    return (time.thread_time() - began) * 1000


def measure(folder: Path, name: str) -> None:
    """Print one line for a set."""
    tools, queries = load(folder, name)
    pool, finder = Pool([entry_of(tool) for tool in tools]), ToolFinder()
    built = cpu(lambda: finder.follow(pool))
    index = finder, pool
    names = [tool["name"] for tool in tools]
    found = [search(index, query["query"], 5) for query in queries]
    best = sum(recall(query, names) for query, names in zip(queries, found, strict=True)) / len(queries)
    fuzzy = [
        recall(query, [key for key, *_ in process.extract(query["query"], names, scorer=fuzz.WRatio, limit=5)])
        for query in queries[:100]
    ]
    ours = median(cpu(lambda query=query: search(index, query["query"], 5)) for query in queries)  # type: ignore[misc]
    theirs = median(
        cpu(lambda query=query: process.extract(query["query"], names, scorer=fuzz.WRatio, limit=5))  # type: ignore[misc]
        for query in queries[:100]
    )
    print(
        f"{name:13} {len(tools):5} tools  recall@5 {best:6.1%}  rapidfuzz {sum(fuzzy) / len(fuzzy):6.1%}  "
        f"query {ours:6.2f} ms CPU = {ours / theirs:5.2f} x rapidfuzz  build {built:5.0f} ms = {built / theirs:4.0f} x"
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder with the sets")
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="only this set; may be repeated")
    given = parser.parse_args()
    for name in given.sets or SETS:
        measure(given.folder, name)


if __name__ == "__main__":
    main()
