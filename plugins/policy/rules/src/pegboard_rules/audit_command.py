"""`pegboard audit`: which calls were allowed or denied, when, and by whom."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from pegboard import PegboardError, Settings
from pegboard.settings import load, state_dir
from pegboard.wording import counted
from pegboard_rules.audit import NAME
from pegboard_rules.audit_reader import AuditReader, Wanted, moment_of, parse_since

EXAMPLES = """\
examples:
  pegboard audit                        every decision, oldest first
  pegboard audit --denied --since 2h    what was denied in the last two hours
  pegboard audit --session 688cb06e     one session
  pegboard audit --tool Bash --json     one JSON object per line

The log has a hash in place of each call's input. Set "auditInput": true to keep the input itself from then on.
"""
COLOURS = {"allow": "32", "deny": "31", "cancelled": "33"}
WIDEST = 200
"""How many characters of an input or a reason are shown; --json has all that was kept."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="pegboard audit",
        description="Show the audit log: which calls were allowed or denied, and by whom.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--since", metavar="TIME", help="30m, 2h, 3d, today, or a date such as 2026-01-31")
    made.add_argument("--denied", action="store_true", help="only calls that were denied")
    made.add_argument("--session", metavar="ID", default="", help="only this session: its id, or the start of it")
    made.add_argument("--tool", metavar="TOOL", action="append", help="only this tool (may be repeated)")
    made.add_argument("--json", action="store_true", help="print one JSON object per line, as it was recorded")
    made.add_argument("--debug", action="store_true", help="show tracebacks")
    return made


def run(words: Sequence[str]) -> int:
    """The command."""
    made = parser()
    given = made.parse_args(words)
    try:
        since = None if given.since is None else parse_since(given.since)
    except ValueError as error:
        made.error(f"--since: {error}")
    folder = state_dir(os.environ)
    if not folder:
        raise PegboardError("There is no audit log: there is no home directory. Set HOME or XDG_STATE_HOME.")
    reader = AuditReader(os.path.join(folder, NAME))
    wanted = Wanted(since, given.denied, given.session, tuple(given.tool or ()))
    shown = 0
    for record in reader.records(wanted):
        shown += 1
        sys.stdout.write(f"{json.dumps(record) if given.json else as_line(record, colour=has_colour())}\n")
    if not shown:
        sys.stderr.write(f"pegboard: {nothing(reader.path, wanted, load())}\n")
    if reader.broken:
        sys.stderr.write(f"pegboard: skipped {counted(reader.broken, 'line')} of the audit log that cannot be read.\n")
    return 0


def nothing(path: str, wanted: Wanted, settings: Settings) -> str:
    """Why there is nothing to show."""
    if wanted != Wanted():
        return "No decision in the audit log matches."
    if not settings.get("audit"):
        return 'Decisions are not recorded: the setting "audit" is false.'
    return f"No decisions are recorded in {path} yet."


def as_line(record: dict[str, Any], *, colour: bool) -> str:
    """A record for a person: when, what, whose word it was, and why."""
    when = moment_of(record).strftime("%Y-%m-%d %H:%M:%S")
    decision = str(record.get("decision", ""))
    word = f"{decision:<9}"
    if colour:
        word = f"\x1b[{COLOURS.get(decision, '0')}m{word}\x1b[0m"
    session = str(record.get("session", ""))[:12] or "-"
    parts = [when, word, f"{record['tool']:<12}", f"{session:<12}", f"by {record.get('by', '')}", *why(record)]
    if "input" in record:
        parts.append(json.dumps(record["input"], ensure_ascii=False)[:WIDEST])
    return "  ".join(part if part is word else printable(part) for part in parts)


def why(record: dict[str, Any]) -> list[str]:
    """The rule with its place, or the layer."""
    if rule := record.get("rule"):
        place = str(record.get("source", "")) + (f":{record['line']}" if record.get("line") else "")
        return [f"{str(rule)[:WIDEST]} ({place})" if place else str(rule)[:WIDEST]]
    layer = str(record.get("layer", ""))
    return [f"({layer})"] if layer else []


def printable(text: str) -> str:
    """Nothing in a log may move the cursor or break the line."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def has_colour() -> bool:
    """Whether a person sees this on a terminal with colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
