"""The aliases and functions of the user's own shell, taken once per session where the setting `bash.snapshot` says so.

Every command then has them, as in the user's terminal, without the cost of a login shell each time. A name that they
give a meaning of its own is no longer the program that the tables know, so a command that uses it asks.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from pegboard import Context, Facts, ProcessSpec, ToolError

SECONDS = 20.0
ALIAS = re.compile(r"^alias (?:-- )?([^=\s]+)=", re.MULTILINE)
UNQUOTED = re.compile(r"[\\'\"]")
FUNCTION = re.compile(r"^(\S+) \(\) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file to read before each command, and the names to which it gives another meaning."""

    file: Path
    names: frozenset[str]

    def applied(self, facts: Facts, programs: frozenset[str]) -> Facts:
        """The facts of a command in whose shell these names mean something else."""
        # Every word, not only those that we take for programs: behind `time` a word is a command as well.
        words = {UNQUOTED.sub("", word) for part in facts.parts for word in part.text.split()}
        shadowed = sorted(self.names & (programs | words))
        if not shadowed:
            return facts
        reason = f"{shadowed[0]!r} is an alias or function of the user's shell, so what it does is not known."
        parts = tuple(replace(part, read_only=False) for part in facts.parts)
        reason = facts.reason or reason
        return replace(facts, read_only=False, concurrency_safe=False, open_world=True, parts=parts, reason=reason)


async def taken(ctx: Context) -> Snapshot:
    """Ask the user's shell. It reads its profile like a shell in a terminal, but no one answers its prompts."""
    mark = secrets.token_hex(8)
    script = f"echo; echo {mark}; alias -p; echo {mark}; shopt -p extglob; declare -f; echo {mark}"
    spec = ProcessSpec(("bash", "-l", "-i", "-c", script), cwd=ctx.cwd, timeout=SECONDS)
    ended = await ctx.processes.run(spec)
    pieces = ended.output.read_bytes().split(f"{mark}\n".encode()) if ended.output else []
    if ended.output:
        ended.output.unlink(missing_ok=True)
    if len(pieces) != 4:
        why = f"did not answer within {SECONDS:g} s" if ended.timed_out else f"ended with code {ended.code}"
        advice = "Fix the shell's profile, or remove bash.snapshot from the settings."
        raise ToolError(f"The user's aliases and functions cannot be loaded: the shell {why}. {advice}")
    aliases, functions = pieces[1], pieces[2]
    file = ctx.files.scratch("bash") / "snapshot"
    file.write_bytes(os.fsencode(as_before(ctx)) + b"shopt -s expand_aliases\n" + functions + aliases)
    names = ALIAS.findall(os.fsdecode(aliases)) + FUNCTION.findall(os.fsdecode(functions))
    return Snapshot(file, frozenset(names))


def as_before(ctx: Context) -> str:
    """Lines for a file that BASH_ENV names: the command, and scripts it starts, get the one they would have had."""
    outer = ctx.settings.get("env", {}).get("BASH_ENV") or os.environ.get("BASH_ENV")
    return f"export BASH_ENV={shlex.quote(outer)}\n. {shlex.quote(outer)}\n" if outer else "unset BASH_ENV\n"
