"""`pegboard tools search`: the ranking that ToolSearch uses, with the contribution of each field."""

from __future__ import annotations

import sys
from typing import Any

from pegboard import Board, Settings
from pegboard_cli import output
from pegboard_cli.main import OK, USAGE

SERVICE = "tool_index"
LIMIT = 10
MISSING = "Searching needs pegboard-toolsearch, which is missing or switched off. Install it or switch it on."


def search(settings: Settings, query: str, *, explain: bool, as_json: bool) -> int:
    """Print the tools that fit a query, best first, among all tools that can be called."""
    board = Board.load(settings=settings)
    service: Any = board.services.others.get(SERVICE)
    if service is None:
        output.complain(MISSING)
        return USAGE
    report = service.report(board.pool, query, LIMIT)
    if as_json:
        output.print_json(report if explain else {**report, "tools": [_brief(row) for row in report["tools"]]})
        return OK
    _print_rows(report["tools"], explain=explain)
    for remark in report["remarks"]:
        sys.stdout.write(output.printable(f"{remark}\n"))
    return OK


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("name", "server", "score")}


def _print_rows(rows: list[dict[str, Any]], *, explain: bool) -> None:
    if not rows:
        return
    if explain:
        cells = [[row["name"], row["server"], _number(row["score"]), _contributions(row)] for row in rows]
        output.print_table(["TOOL", "SERVER", "SCORE", "FIELDS"], cells)
        return
    described = [[row["name"], row["server"], _number(row["score"]), row["description"]] for row in rows]
    output.print_table(["TOOL", "SERVER", "SCORE", "DESCRIPTION"], described)


def _number(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def _contributions(row: dict[str, Any]) -> str:
    """Each field with its share of the score and the words that were found in it, the largest first."""
    shares = sorted(row["fields"].items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.2f} ({' '.join(row['words'][name])})" for name, share in shares) or "-"
