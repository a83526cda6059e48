"""What can be said about a command: whether it can be reached, and whether it explains itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from pegboard.hosting import CommandRecord, is_own, normalise
from pegboard_authors.findings import Finding

LONGEST_HELP_SECONDS = 20.0
OWN_COMMANDS = "from pegboard_cli.main import COMMANDS; print(*COMMANDS)"


def command_findings(command: CommandRecord, everything: Sequence[CommandRecord]) -> Iterator[Finding]:
    """What an author should change about a command."""
    name, mine = command["name"], normalise(command["dist"])
    if name in _own_commands():
        yield Finding("name-clash", name, f"{name} is one of Pegboard's own commands. Choose another name.")
        return
    others = {other["dist"] for other in everything if other["name"] == name and normalise(other["dist"]) != mine}
    for other in sorted(others):
        yield Finding("name-clash", name, f"{other} has a command with the same name. Choose another name.")
    if not others and not is_own(command["dist"]):
        yield from _help(name)


@cache
def _own_commands() -> frozenset[str]:
    """The commands of the command line itself, without those of other distributions."""
    return frozenset(_python("-c", OWN_COMMANDS, check=True).stdout.split())


def _help(name: str) -> Iterator[Finding]:
    """Every command answers --help with its usage and ends well."""
    try:
        done = _command_line(name, "--help")
    except subprocess.TimeoutExpired:
        yield Finding("command-help", name, f"--help does not finish within {LONGEST_HELP_SECONDS:g} s.")
        return
    if done.returncode or "usage" not in done.stdout.lower():
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["It printed nothing."]
        reason = f"pegboard {name} --help ended with exit code {done.returncode} and printed no usage."
        yield Finding("command-help", name, f"{reason} It said: {last[0]}")


def _command_line(*words: str) -> subprocess.CompletedProcess[str]:
    return _python("-m", "pegboard_cli", *words)


def _python(*words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run something of the installed command line, which is a plugin of its own and is never imported here."""
    return subprocess.run(
        [sys.executable, "-P", *words],
        env={**os.environ, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_HELP_SECONDS,
        check=check,
    )
