"""`pegboard tools`: what is on the board, and why others are absent."""

from __future__ import annotations

import sys

from pegboard.plugins import index
from pegboard.plugins.features import Features
from pegboard.pool.assembly import assemble
from pegboard_cli import options, output
from pegboard_cli.main import OK, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard.pool.entries import Pool
    from pegboard.settings import Settings

EXAMPLES = """\
  pegboard tools                 the tools a model would see
  pegboard tools --all           also the absent ones, and why
  pegboard tools show Read       one tool: prompt, schema, flags
  pegboard tools --request       exactly the bytes a request would carry
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("tools", "The tools on the board.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("--all", action="store_true", help="also absent tools, and why")
    parser.add_argument(
        "--request", action="store_true", help="print the definitions exactly as a request carries them"
    )
    parser.add_argument("show", nargs="?", choices=["show"], help="show one tool")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the tool to show")
    given = parser.parse_args(words)
    if given.show and not given.name:
        parser.error("show needs the name of a tool, such as: pegboard tools show Read")
    settings = options.settings_for(given)
    pool = the_pool(settings)
    options.warn(settings, pool.notices)
    if given.show:
        return show(pool, given.name, as_json=given.json)
    if given.request:
        sys.stdout.buffer.write(pool.request_bytes() + b"\n")
    elif given.json:
        rows = [entry.row() for entry in pool.entries]
        output.print_json(rows + [gone.row() for gone in pool.absent] if given.all else rows)
    else:
        table(pool, given.all)
    return OK


def the_pool(settings: Settings) -> Pool:
    """The pool from the index alone, unless a plugin has to be asked."""
    features = Features(settings)
    found = index.load(lambda plugin: features.off(plugin) is None)["plugins"]
    enabled = [plugin for plugin in found if features.off(plugin) is None and plugin["scan"]]
    if any(must_ask(plugin) for plugin in enabled) or settings.get("strict"):
        from pegboard.board import Board

        return Board(settings, found).pool
    return assemble(found, settings)


def must_ask(plugin: dict[str, Any]) -> bool:
    """Whether the listing depends on what a plugin says now; also true for a broken guard, which stops everything."""
    scanned = plugin["scan"]
    if scanned["state"] != "active":
        return bool(plugin["family"] == "policy")
    dynamic = any(tool["dynamic"] for tool in scanned["tools"])
    return dynamic or "tool_sources" in scanned["hooks"]


def table(pool: Pool, everything: bool) -> None:
    """The listing for people."""
    rows = [
        [entry.name, entry.family, entry.dist, entry.partition, flags(entry.record), str(entry.tokens)]
        for entry in pool.entries
    ]
    output.print_table(["TOOL", "FAMILY", "FROM", "PARTITION", "FLAGS", "TOKENS"], rows)
    tokens = sum(entry.tokens for entry in pool.entries)
    sys.stdout.write(output.styled(f"{len(rows)} tools, about {tokens} tokens, {pool.fingerprint[:12]}\n", "dim"))
    if everything and pool.absent:
        sys.stdout.write("\n")
        output.print_table(["ABSENT", "LAYER", "WHY"], [[gone.name, gone.layer, gone.reason] for gone in pool.absent])


def flags(record: dict[str, Any]) -> str:
    """The facts a tool declares, in words."""
    names = ("read_only", "concurrency_safe", "open_world", "destructive")
    words = ("reads only", "concurrent", "open world", "destructive")
    return ", ".join(word for name, word in zip(names, words, strict=True) if record[name]) or "-"


def show(pool: Pool, name: str, *, as_json: bool) -> int:
    """One tool in full."""
    import json

    entry = pool.get(name)
    if entry is None:
        from pegboard.nearest import did_you_mean

        known = any(gone.name == name for gone in pool.absent)
        hint = "" if known else did_you_mean(name, pool.names)
        output.complain(f"{name} is not on the board. {pool.why_absent(name)}{hint}")
        return USAGE
    definition = json.loads(entry.definition)
    if as_json:
        output.print_json({**entry.row(), "definition": definition})
        return OK
    sys.stdout.write(output.styled(f"{entry.name}\n", "bold"))
    sys.stdout.write(f"{entry.dist} {entry.version}, {entry.entry}, {entry.partition}, {entry.tokens} tokens\n")
    sys.stdout.write(f"flags: {flags(entry.record)}\n\n{output.printable(definition['description'])}\n\n")
    sys.stdout.write(json.dumps(definition["input_schema"], indent=2, ensure_ascii=False) + "\n")
    return OK
