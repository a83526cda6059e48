"""`pegboard settings`: what is in force, and where it comes from."""

from __future__ import annotations

import json

from pegboard_cli import options, output
from pegboard_cli.main import OK

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

EXAMPLES = """\
  pegboard settings              settings that are set, and where
  pegboard settings --all        every setting, with its value
  pegboard settings bash         one group, or one setting
  pegboard settings --json
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("settings", "Show effective settings and where each comes from.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("--all", action="store_true", help="also show settings that are not set")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only this setting or group of settings")
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    options.warn(settings)
    rows = settings.explain(unset=given.all or bool(given.names))
    if given.names:
        rows = chosen(rows, given.names, parser)
    if given.json:
        problems = [str(problem) for problem in settings.problems]
        notices = [str(notice) for notice in settings.notices]
        output.print_json({"settings": rows, "problems": problems, "notices": notices, "root": settings.root})
        return OK
    output.print_table(
        ["SETTING", "VALUE", "LAYER", "FROM", "MEANING"] if given.all or given.names else SHORT,
        [
            [
                row["key"],
                "-" if row["value"] is None else json.dumps(row["value"], ensure_ascii=False),
                row["layer"],
                ", ".join(said["source"] for said in row["from"]) or row["distribution"],
                *([row["doc"]] if given.all or given.names else ()),
            ]
            for row in rows
        ],
    )
    return OK


SHORT = ["SETTING", "VALUE", "LAYER", "FROM"]


def chosen(rows: list[dict[str, Any]], names: list[str], parser: argparse.ArgumentParser) -> list[dict[str, Any]]:
    """The rows of these settings and groups."""
    for name in names:
        if not any(row["key"] == name or row["key"].startswith(f"{name}.") for row in rows):
            from pegboard.wording import did_you_mean

            hint = did_you_mean(name, [row["key"] for row in rows])
            parser.error(f"no installed distribution declares the setting {name!r}.{hint}")
    return [row for row in rows if any(row["key"] == name or row["key"].startswith(f"{name}.") for name in names)]
