"""`pegboard trust`: let a project's own settings allow calls and run hooks."""

from __future__ import annotations

import json
import os
import sys

from pegboard import Settings
from pegboard.settings import load, project_root
from pegboard_cli import options, output
from pegboard_cli.main import OK, USAGE
from pegboard_trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

EXAMPLES = """\
  pegboard trust                 trust the current project
  pegboard trust ../other        trust another one
  pegboard trust --revoke        stop trusting it
  pegboard trust list            every trusted project (a folder of that name is ./list)

A project is identified by its real path. Repositories inside it and linked worktrees must be trusted separately.
Until it is trusted, a project's settings can forbid and ask, but not allow, run hooks or set variables.
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("trust", "Trust a project's own settings to allow calls and run hooks.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("folder", nargs="?", metavar="DIR | list", help="a folder of the project (default: this one)")
    parser.add_argument("--revoke", action="store_true", help="stop trusting it")
    given = parser.parse_args(words)
    store = Trust.of()
    if given.folder == "list":
        return show_all(store, as_json=given.json)
    folder = os.path.abspath(os.path.join(given.cwd or ".", given.folder or "."))
    if not os.path.isdir(folder):
        sys.stderr.write(f"pegboard: there is no folder {output.visible(folder)}.\n")
        return USAGE
    root = project_root(folder, os.environ)
    if given.revoke:
        was = store.revoke(root)
        return report({"root": os.path.realpath(root), "trusted": False, "changed": was}, as_json=given.json)
    gained = load(folder).withheld
    real = store.add(root)
    loosened = [{"key": item.key, "source": item.source, "value": item.value} for item in gained]
    return report({"root": real, "trusted": True, "now_used": loosened}, as_json=given.json)


def show_all(store: Trust, *, as_json: bool) -> int:
    """Every trusted project."""
    rows = [{"root": root, "since": since} for root, since in store.trusted().items()]
    if as_json:
        output.print_json(rows)
    elif rows:
        output.print_table(["SINCE", "PROJECT"], [[row["since"], row["root"]] for row in rows])
    else:
        sys.stdout.write("No project is trusted.\n")
    return OK


def report(done: dict[str, Any], *, as_json: bool) -> int:
    """Say what is now so."""
    if as_json:
        output.print_json(done)
    elif done["trusted"]:
        sys.stdout.write(f"{output.visible(done['root'])} is trusted.\n")
        for item in done["now_used"]:
            sys.stdout.write(f"  now used: {in_words(item['key'], item['value'], item['source'])}\n")
    else:
        was = "no longer trusted" if done["changed"] else "not trusted, as before"
        sys.stdout.write(f"{output.visible(done['root'])} is {was}.\n")
    return OK


def in_words(key: str, value: Any, source: str) -> str:
    """One setting that waits for trust, with nothing in it that could steer the terminal."""
    return output.visible(f"{key} = {json.dumps(value, ensure_ascii=True)}  ({source})")


def offer(given: argparse.Namespace, settings: Settings, **cli: Any) -> Settings:
    """On a terminal, show what waits for trust and ask; settings are read again if the person agrees."""
    if not settings.withheld or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return settings
    sys.stderr.write(f"The settings of {output.visible(settings.root)} contain entries that need trust:\n")
    for item in settings.withheld:
        sys.stderr.write(f"  {in_words(item.key, item.value, item.source)}\n")
    sys.stderr.write("If you trust them, their authors can run programs as you. Trust this project? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return settings
    Trust.of().add(settings.root)
    return options.settings_for(given, **cli)
