"""Commands that the settings let run outside the sandbox."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable

from pegboard import ProcessSpec
from pegboard_sandbox.policy import Policy
from pegboard_sandbox.roots import is_in

PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./ -]+")
"""Words that mean to every shell what they say. Anything else could be, or contain, another command."""

SHELL = ("bash", "-c")
ON_TERMINAL = 7
"""How many words there are where a shell first makes a terminal its own: these three come last."""


def is_excluded(spec: ProcessSpec, policy: Policy, projects: Iterable[str] = ()) -> bool:
    """Whether a process is one plain command that `sandbox.excludedCommands` names, by its first words.

    `projects` are the folders that the session works in: a program from there is the project's own, whatever its name.
    """
    argv = spec.argv[-3:] if spec.tty and len(spec.argv) == ON_TERMINAL else spec.argv
    if not policy.excluded or argv[:2] != SHELL or len(argv) != 3 or not is_excluded_command(argv[2], policy):
        return False
    # A program that a sandboxed command may have put there is not the one that was meant.
    search = spec.env.get("PATH", "")
    if not all(map(os.path.isabs, search.split(":"))):
        return False  # The shell also searches other folders, of which we know only some.
    program = shutil.which(argv[2].split()[0], path=search)
    if not program or not os.path.isabs(program):
        return False
    roots = (*map(str, (*spec.writable, spec.cwd)), *policy.allow_write, *projects)
    return not any(is_in(at, os.path.realpath(root)) for root in roots for at in both(program))


def both(path: str) -> tuple[str, str]:
    """A path as it is spelled, and where it leads."""
    return path, os.path.realpath(path)


def is_excluded_command(command: str, policy: Policy) -> bool:
    """Whether the first words of a plain command are those of an entry."""
    if not PLAIN.fullmatch(command):
        return False
    words = command.split()
    for entry in policy.excluded:
        wanted = entry.removesuffix(":*").removesuffix(" *").split()
        if wanted and words[: len(wanted)] == wanted:
            return True
    return False
