"""`pegboard plugins`: what is installed, in which state, and why."""

from __future__ import annotations

from pegboard.hosting import Features, assemble, guard_problems, load_index
from pegboard_cli import options, output
from pegboard_cli.main import OK

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard plugins               every plugin and its state
  pegboard plugins --json        with hooks, traceback and load time
"""


def run(words: list[str]) -> int:
    """The command."""
    from pegboard_cli.plugin_rows import plugin_rows

    parser = options.parser("plugins", "List installed plugins and their state, with the reason.", EXAMPLES)
    options.listing(parser)
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    features = Features(settings)
    found = load_index(lambda plugin: features.off(plugin) is None)["plugins"]
    pool = assemble(found, settings)
    rows = plugin_rows(found, pool, settings)
    options.warn(settings, pool.notices, guard_problems(features, found))
    if given.json:
        output.print_json(rows)
        return OK
    output.print_table(
        ["PLUGIN", "VERSION", "STATE", "TOOLS", "MS", "WHY"],
        [
            [row["id"], row["version"], row["state"], ", ".join(row["tools"]) or "-", f"{row['ms']:.0f}", row["reason"]]
            for row in rows
        ],
    )
    return OK
