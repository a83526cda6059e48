"""Help, the version, and commands of other distributions."""

from __future__ import annotations

import os
import sys

from pegboard import PegboardError
from pegboard_cli.main import COMMANDS, OK, USAGE
from pegboard_cli.output import visible

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegboard.hosting import CommandRecord

FOR_AUTHORS = {
    "new": "create a package with a tool, a policy, a provider or a command",
    "check": "lint a plugin and test its tools against the contract",
    "build": "build a bundle that contains only the tools you choose",
}
"""Commands in their own distribution, because it has large dependencies."""
ELSEWHERE = {
    "pegboard-authors": FOR_AUTHORS,
    "pegboard-mcp": {"mcp": "list and manage MCP servers"},
    "pegboard-rules": {"audit": "which calls were allowed or denied, when, and by whom"},
    "pegboard-undo": {"undo": "restore the files that a session changed"},
}
"""What commands of our other distributions do, because help must not import them. Others are named by their origin."""

SUMMARY = "A plugin framework for LLM-agent tools, with permissions, a streaming runtime and a CLI."

EXAMPLES = """\
examples:
  pegboard tools                              list the tools
  pegboard call Read file_path=README.md      call a tool
  pegboard tools --all                        list absent tools too, with the reason

Every command has --help with examples, and every listing has --json.
"""


def show_help() -> int:
    """`pegboard --help`."""
    lines = ["usage: pegboard COMMAND [OPTIONS]", "", "A plugin framework for LLM-agent tools.", "", "commands:"]
    foreign = {
        command["name"]: ELSEWHERE.get(command["dist"], {}).get(command["name"], f"from {command['dist']}")
        for command in foreign_commands()
    }
    both = {**COMMANDS, **foreign}
    width = max(map(len, both))
    lines += [f"  {visible(name):<{width}}  {visible(what)}" for name, what in both.items()]
    sys.stdout.write("\n".join([*lines, "", EXAMPLES]))
    return OK


def show_version() -> int:
    """`pegboard --version`."""
    sys.stdout.write(f"pegboard {version_of('pegboard-cli')} (core {version_of('pegboard-core')})\n")
    return OK


def version_of(dist: str) -> str:
    """The version of a distribution, from the folder that its installer has named after it."""
    stem, end = dist.replace("-", "_") + "-", ".dist-info"
    for place in sys.path:
        try:
            names = os.listdir(place)
        except OSError:  # No folder, such as an archive, or not for us to read.
            continue
        for name in names:
            if name.startswith(stem) and name.endswith(end):
                return name[len(stem) : -len(end)]
    from importlib.metadata import version  # For everything else: to import it takes 54 ms.

    return version(dist)


def foreign_commands() -> list[CommandRecord]:
    """Commands of other distributions, from the entry-point group `pegboard.commands`; nothing is imported."""
    from pegboard.hosting import load_index

    return [command for command in load_index(lambda plugin: False)["commands"] if command["name"] not in COMMANDS]


def hint_for(name: str) -> str:
    """What to do about a command that is not there."""
    from pegboard.wording import did_you_mean

    if name in FOR_AUTHORS:
        return " Install pegboard-authors to get it."
    known = [*COMMANDS, *(command["name"] for command in foreign_commands())]
    return did_you_mean(name, known) or " See pegboard --help."


def run_foreign(name: str, words: list[str]) -> int:
    """Run a command of another distribution, or say that there is none."""
    owners = [command for command in foreign_commands() if command["name"] == name]
    if len(owners) > 1:
        both = " and ".join(owner["dist"] for owner in owners)
        sys.stderr.write(f"pegboard: {both} both define the command {name!r}. Uninstall one of them.\n")
        return USAGE
    if not owners:
        sys.stderr.write(f"pegboard: there is no command {name!r}.{hint_for(name)}\n")
        return USAGE
    from importlib import import_module

    module, _, attribute = owners[0]["value"].partition(":")
    try:
        return int(getattr(import_module(module), attribute or "run")(words) or 0)
    except (PegboardError, OSError):
        raise
    except Exception as error:
        reason = f"The command {name} of {owners[0]['dist']} failed: {type(error).__name__}: {error}."
        raise PegboardError(f"{reason} Run it with --debug for the traceback.") from error
