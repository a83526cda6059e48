"""What exit codes and signals mean: some codes of some programs are answers and no failures."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping

from pegboard_bash.shape import Shape, Words, program_of

Meaning = Mapping[int, str]
NO_LINE = {1: "no line matched"}
DIFFERENT = {1: "there are differences"}
FALSE = {1: "the condition is false"}
ROBOCOPY = dict.fromkeys(range(1, 8), "files were copied or skipped, and nothing failed")

_meanings: dict[str, Meaning] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "git grep"), NO_LINE),
    **dict.fromkeys(("diff", "cmp", "git diff"), DIFFERENT),
    **dict.fromkeys(("test", "[", "[["), FALSE),
    "find": {1: "some folders could not be searched"},
    "pgrep": {1: "no process matched"},
    "jq": {1: "the last value is false or null"},
    "robocopy": ROBOCOPY,
}
_conditions: dict[str, Callable[[Words], bool]] = {
    # Without -e it never says "false" with its exit code.
    "jq": lambda words: any(word == "--exit-status" or _bundles(word, "e") for word in words[1:]),
}
SILENT = frozenset({"cd", "pushd", "echo", "printf", ":", "true", "export", "set", "pwd", "sleep"})
"""Commands before a `&&` that do not fail without the shell saying so."""
SHELL_COMPLAINS = "bash: line "
OF_THE_SHELL = {
    126: "the program cannot be executed",
    127: "there is no such program",
    124: ("often: timed out by the timeout command"),
}


def register_exit_codes(program: str, meaning: Meaning) -> None:
    """Teach Bash codes of a program that are answers: `register_exit_codes("git merge-base", {1: "it is not"})`."""
    _meanings[program] = dict(meaning)


def interpretation(code: int, shape: Shape, output: str) -> str:
    """What a non-zero code says when it is an answer; empty when it is a failure, or when that cannot be told.

    Behind `a && b` either may have failed, so each must be a program whose code is an answer, or one that never fails
    silently.
    """
    found: list[str] = []
    for words in shape.deciding:
        program = program_of(words)
        meaning = _meanings.get(program, {}).get(code)
        if meaning and _conditions.get(program, bool)(words):
            found.append(meaning)
        elif program not in SILENT or SHELL_COMPLAINS in output:
            return ""
    return " or ".join(dict.fromkeys(found))


def ending(code: int | None, name: str, memory_ran_out: bool) -> str:
    """How a command ended that failed, as the rest of a sentence that begins with "The command"."""
    if code is None:
        return f"was killed by {name}{_because(name, memory_ran_out)}" if name else "ended for an unknown reason"
    if code in OF_THE_SHELL:
        return f"exited with code {code} ({OF_THE_SHELL[code]})"
    inner = _signal_of(code)
    if inner:
        return f"exited with code {code}: part of it was killed by {inner}{_because(inner, memory_ran_out)}"
    return f"exited with code {code}"


def _because(name: str, memory_ran_out: bool) -> str:
    return ", because it ran out of memory" if name == "SIGKILL" and memory_ran_out else ""


def _signal_of(code: int) -> str:
    try:
        return signal.Signals(code - 128).name if code > 128 else ""
    except ValueError:
        return ""


def _bundles(word: str, letter: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and letter in word
