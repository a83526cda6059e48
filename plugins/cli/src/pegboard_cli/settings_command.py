"""`pegboard settings`: what is in force, and where it comes from."""

from __future__ import annotations

import json

from pegboard.settings import KEYS
from pegboard_cli import options, output
from pegboard_cli.main import OK

EXAMPLES = """\
  pegboard settings              what somebody set, and where
  pegboard settings --all        every setting there is
  pegboard settings --json
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("settings", "Effective settings and where each comes from.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("--all", action="store_true", help="also settings that nobody set")
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    options.warn(settings)
    rows = settings.explain()
    if given.all:
        known = {row["key"] for row in rows}
        rows += [{"key": key, "value": None, "layer": "default", "from": []} for key in KEYS if key not in known]
    for row in rows:
        row["doc"] = KEYS[row["key"]].doc
    if given.json:
        problems = [str(problem) for problem in settings.problems]
        notices = [str(notice) for notice in settings.notices]
        output.print_json({"settings": rows, "problems": problems, "notices": notices, "root": settings.root})
        return OK
    output.print_table(
        ["SETTING", "VALUE", "LAYER", "FROM"],
        [
            [
                row["key"],
                json.dumps(row["value"], ensure_ascii=False),
                row["layer"],
                ", ".join(said["source"] for said in row["from"]) or row["doc"],
            ]
            for row in rows
        ],
    )
    return OK
