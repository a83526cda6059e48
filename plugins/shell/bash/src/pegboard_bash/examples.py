"""The examples of programs, judged: what a plugin that teaches programs asserts in its own tests."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pegboard_bash.programs import Program
from pegboard_bash.understanding import understand


def wrong_examples(programs: Mapping[str, Program], cwd: str | os.PathLike[str] = ".") -> list[str]:
    """The examples that are not judged as they say, each with the reason; empty when all is well.

    Register the programs first. A program that shows no example of either kind counts as wrong: nothing tests it.
    """
    found: list[str] = []
    for names, program in programs.items():
        if not (program.reads and program.asks):
            found.append(f"{names}: give at least one example in `reads` and one in `asks`.")
        found += [
            f"{example}: should be read-only, but: {reason}"
            for example in program.reads
            if (reason := understand(example, cwd).facts.reason)
        ]
        found += [
            f"{example}: should ask, but is considered read-only."
            for example in program.asks
            if understand(example, cwd).facts.read_only
        ]
    return found
