"""`pegboard tools`: list the available tools, and why others are absent."""

from __future__ import annotations

import os
import sys

from pegboard.hosting import Features, assemble, guard_problems, load_index
from pegboard.wording import counted
from pegboard_cli import output
from pegboard_cli.given_settings import settings_for, switches, warn
from pegboard_cli.main import OK, USAGE
from pegboard_session import DeferralPolicy

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard import PolicyError, Settings
    from pegboard.hosting import Absent, Entry, PluginRecord, Pool

EXAMPLES = """\
  pegboard tools                 the tools on the board
  pegboard tools --all           also missing tools, and why
  pegboard tools show Read       one tool: prompt, schema, flags
  pegboard tools --request       their definitions, exactly as a request sends them
  pegboard tools search "send a message" --explain
                                 the tools that ToolSearch would find, and why
  pegboard prompt show --model M which of them this model gets
"""


def run(words: list[str]) -> int:
    """The command."""
    given: Any = switches(words, "json", "all", "request")
    if given:
        return list_all(pool_with_warnings(settings_for(given)), given)
    given = parsed(words)
    settings = settings_for(given)
    if given.act == "search":
        from pegboard_cli.tool_search import search

        return search(settings, " ".join(given.words), explain=given.explain, as_json=given.json)
    pool = pool_with_warnings(settings)
    return show(pool, given.words[0], as_json=given.json) if given.act == "show" else list_all(pool, given)


def parsed(words: list[str]) -> Any:
    """What was typed, or an error that says what is wrong with it."""
    from pegboard_cli import options  # A listing needs no parser.

    parser = options.parser("tools", "List the tools on the board.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("--all", action="store_true", help="also show missing tools, and why")
    parser.add_argument(
        "--request",
        action="store_true",
        help="print all definitions exactly as a request sends them; a model may get fewer",
    )
    parser.add_argument("--explain", action="store_true", help="with search: what each field contributes")
    help_text = "show one tool, or search for tools"
    parser.add_argument("act", nargs="?", metavar="show|search", choices=["show", "search"], help=help_text)
    parser.add_argument("words", nargs="*", metavar="NAME|QUERY", help="the tool to show, or what to search for")
    given = parser.parse_intermixed_args(words)
    if given.act == "show" and len(given.words) != 1:
        parser.error("show needs the name of a tool, such as: pegboard tools show Read")
    if given.act == "search" and not " ".join(given.words).strip():
        parser.error('search needs words, such as: pegboard tools search "send a message"')
    if given.explain and given.act != "search":
        parser.error("--explain goes with search, such as: pegboard tools search email --explain")
    return given


def list_all(pool: Pool, given: Any) -> int:
    """Every tool: for people, as JSON, or as in a request."""
    if given.request:
        sys.stdout.buffer.write(pool.request_bytes() + b"\n")
    elif given.json:
        rows = [row_of(entry) for entry in pool.entries]
        output.print_json(rows + [absent_row(gone) for gone in pool.absent] if given.all else rows)
    else:
        table(pool, given.all)
    return OK


def pool_with_warnings(settings: Settings) -> Pool:
    """The pool as a session starts with it. What is odd is said on standard error."""
    pool, problems = pool_and_problems(settings)
    pool = pool.deferring(DeferralPolicy.of(settings).deferred(pool))
    warn(settings, pool.notices, problems)
    return pool


def the_pool(settings: Settings) -> Pool:
    """The pool from the index alone, unless a plugin has to be asked."""
    return pool_and_problems(settings)[0]


def pool_and_problems(settings: Settings) -> tuple[Pool, list[PolicyError]]:
    """The pool, and the guards in the settings whose plugins are missing: a listing reports them and continues."""
    features = Features(settings)
    found = load_index(lambda plugin: features.off(plugin) is None)["plugins"]
    if any(must_ask(plugin, settings) for plugin in found if features.off(plugin) is None) or settings.get("strict"):
        from pegboard import Board

        return Board(settings, found).pool, []
    return assemble(found, settings), guard_problems(features, found)


def must_ask(plugin: PluginRecord, settings: Settings) -> bool:
    """Whether the listing depends on what a plugin says now; also true for a broken guard, which stops everything."""
    scanned = plugin["scan"]
    if scanned is None:
        return False
    if scanned["state"] != "active":
        return plugin["family"] == "policy"
    dynamic = any(tool["dynamic"] for tool in scanned["tools"])
    return dynamic or ("tool_sources" in scanned["hooks"] and may_have_sources(scanned.get("sources_when"), settings))


def may_have_sources(needs: list[str] | None, settings: Settings) -> bool:
    """Whether one of the settings or files is there without which a plugin has no sources of tools."""
    return not needs or any(
        os.path.lexists(os.path.join(settings.root, need)) if need.startswith(".") else settings.holders(need)
        for need in needs
    )


def table(pool: Pool, everything: bool) -> None:
    """The listing for people."""
    rows = [
        [entry.name, entry.family, entry.dist, entry.partition, flags(entry), str(entry.tokens)]
        for entry in pool.entries
    ]
    output.print_table(["TOOL", "FAMILY", "FROM", "PARTITION", "FLAGS", "TOKENS"], rows)
    tools, tokens = counted(len(rows), "tool"), sum(entry.tokens for entry in pool.listed())
    sys.stdout.write(output.styled(f"{tools}, about {tokens} tokens, {pool.fingerprint[:12]}\n", "dim"))
    if everything and pool.absent:
        sys.stdout.write("\n")
        output.print_table(["ABSENT", "LAYER", "WHY"], [[gone.name, gone.layer, gone.reason] for gone in pool.absent])


def flags(entry: Entry) -> str:
    """The facts a tool declares, in words."""
    record = entry.record
    facts = {
        "deferred": entry.deferred,
        "reads only": record["read_only"],
        "concurrent": record["concurrency_safe"],
        "open world": record["open_world"],
        "destructive": record["destructive"],
    }
    return ", ".join(word for word, is_so in facts.items() if is_so) or "-"


def show(pool: Pool, name: str, *, as_json: bool) -> int:
    """One tool in full."""
    import json

    entry = pool.get(name)
    if entry is None:
        from pegboard.wording import did_you_mean

        known = any(gone.name == name for gone in pool.absent)
        hint = "" if known else did_you_mean(name, pool.names)
        output.complain(f"{name} is not on the board. {pool.why_absent(name)}{hint}")
        return USAGE
    definition = json.loads(entry.definition)
    if as_json:
        output.print_json({**row_of(entry), "definition": definition})
        return OK
    sys.stdout.write(output.styled(f"{entry.name}\n", "bold"))
    sys.stdout.write(f"{entry.dist} {entry.version}, {entry.entry}, {entry.partition}, {entry.tokens} tokens\n")
    sys.stdout.write(f"flags: {flags(entry)}\n\n{output.printable(definition['description'])}\n\n")
    sys.stdout.write(json.dumps(definition["input_schema"], indent=2, ensure_ascii=False) + "\n")
    return OK


ROW = ("aliases", "read_only", "concurrency_safe", "open_world", "destructive")


def row_of(entry: Entry) -> dict[str, Any]:
    """A tool of the pool for a listing."""
    return {
        "name": entry.name,
        "state": "active",
        "partition": entry.partition,
        "family": entry.family,
        "distribution": entry.dist,
        "version": entry.version,
        "entry": entry.entry,
        **{field: entry.record[field] for field in ROW},  # type: ignore[literal-required]
        "deferred": entry.deferred,
        "tokens": entry.tokens,
    }


def absent_row(gone: Absent) -> dict[str, str]:
    """An absent tool for a listing."""
    row = {"name": gone.name, "state": "absent", "layer": gone.layer, "reason": gone.reason}
    return {**row, "family": gone.family, "distribution": gone.dist}
