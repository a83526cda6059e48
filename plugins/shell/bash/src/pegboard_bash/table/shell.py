"""Commands of the shell itself."""

from __future__ import annotations

import os
import re

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.words import UNKNOWN, Word

COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
SHELL_OPTIONS = frozenset({"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"})
CONVERSION = re.compile(r"%(?:%|[-+ #0'*.\d]*[hjlLtz]*(\(|[a-zA-Z]|$)|.)", re.DOTALL)


def check_test(words: list[Word], effects: Effects) -> None:
    """`test` and `[`: a variable's name may have a subscript, and bash runs the commands in it."""
    for word in words:
        if word.text in ("-v", "-R"):
            effects.refuse("A test on a variable's name can run commands.")


def check_bracket(words: list[Word], effects: Effects) -> None:
    """`[` must end with its own closing bracket."""
    if not words or words[-1].text != "]":
        effects.refuse("[ has no closing ].")
    check_test(words, effects)


def check_printf(words: list[Word], effects: Effects) -> None:
    """`printf` without `-v` and `%n`, which assign to a variable."""
    ended = bool(words) and words[0].text == "--"
    form = words[ended] if len(words) > ended else None
    if form is None or not form.literal or form.glob or (form.text.startswith("-") and not ended):
        effects.refuse("printf may assign to a variable.")
    elif any(found[1] == "n" for found in CONVERSION.finditer(form.text)):
        effects.refuse("printf %n assigns to a variable.")


def check_set(words: list[Word], effects: Effects) -> None:
    """`set -euo pipefail` and its like; other options change how the rest is read."""
    after_o = False
    for word in words:
        named = after_o and word.text in SHELL_OPTIONS
        if not named and not re.fullmatch(r"[-+][euxvo]+", word.text):
            effects.refuse("set may change how the rest is parsed.")
        after_o = "o" in word.text and not named
    if not words or after_o:
        effects.refuse("set shows every variable.")


def check_cd(words: list[Word], effects: Effects) -> None:
    """One folder, spelled out. Where it leads counts as read, so that path rules see it."""
    targets = [word for word in words if word.text not in ("-L", "--")]
    if len(targets) > 1 or any(word.text.startswith("-") or word.glob or not word.literal for word in targets):
        effects.refuse("The target of cd is not known, so the effect of what follows is not known either.")
        return
    target = targets[0] if targets else Word(effects.place.home)
    effects.read(target)
    if os.environ.get("CDPATH") and not target.text.startswith(("/", "./", "../")):
        effects.refuse("CDPATH is set, so cd may go to another folder.")
    for folder in effects.reads:
        if os.path.lexists(folder) and not (os.path.isdir(folder) and os.access(folder, os.X_OK)):
            effects.refuse(
                f"{folder} cannot be entered, so the working directory for the rest of the command is not known."
            )


def check_command(words: list[Word], effects: Effects) -> None:
    """`command -v name` asks where a program is; otherwise `command` runs one."""
    first = words[0].text if words else ""
    if first in ("-v", "-V"):
        return
    if not words or first.startswith("-"):
        effects.refuse("What command does here is not known.")
        effects.inner += [words[1:]] if len(words) > 1 else []
        return
    effects.inner.append(words)
    effects.strip = True


def check_builtin(words: list[Word], effects: Effects) -> None:
    """`builtin` runs a command of the shell."""
    if given := _past_dashes(words):
        effects.inner.append(given)
        effects.strip = True


def check_eval(words: list[Word], effects: Effects) -> None:
    """`eval`, `trap` and their like run text as a command."""
    effects.refuse(f"{effects.program} runs text as a command.")
    effects.subtexts.append(" ".join(word.text for word in _past_dashes(words)).replace(UNKNOWN, " "))


def _past_dashes(words: list[Word]) -> list[Word]:
    return words[1:] if words and words[0].text == "--" else words


def check_exec(words: list[Word], effects: Effects) -> None:
    """`exec` replaces the shell."""
    effects.refuse("exec replaces the shell.")
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text.endswith("a") else 1
    if words[at:]:
        effects.inner.append(words[at:])


def check_exit(words: list[Word], effects: Effects) -> None:
    """`exit 3`, `break 2`: a number or nothing."""
    if any(not word.text.isdigit() for word in words):
        effects.refuse(f"What {effects.program} does here is not known.")


def check_type(words: list[Word], effects: Effects) -> None:
    """`hash`: only whether a program is there."""
    if any(word.text.startswith(("-", "+")) for word in words):
        effects.refuse(f"{effects.program} with options changes the shell.")


PROGRAMS = {
    "echo": Program(
        check=lambda words, effects: None,
        glob=True,
        unknown_words=True,
        listed=True,
        reads=("echo -n 'a; rm b' \"$x\"", "echo *"),
        asks=("echo $(touch x)", "echo hi > x"),
    ),
    "printf": Program(
        check=check_printf, unknown_words=True, reads=("printf '%s\\n' a",), asks=("printf -v x y", "printf *")
    ),
    "true false :": Program(check=lambda words, effects: None, glob=True, unknown_words=True),
    "test": Program(check=check_test, reads=("test -f a -a -d b",), asks=("test -v 'a[$(touch x)]'",)),
    "[": Program(check=check_bracket),
    "pwd": Program("-LP"),
    "cd": Program(check=check_cd, reads=("cd .",), asks=("cd -", "cd $x")),
    "type": Program("-afPpt", "text*", reads=("type -a ls",)),
    "which": Program("-as --all", "text*"),
    "hash": Program(check=check_type, asks=("hash -p ./x ls",)),
    "command": Program(
        check=check_command, wrapper="strip", reads=("command -v ls", "command ls"), asks=("command touch x",)
    ),
    "builtin": Program(check=check_builtin, wrapper="strip", asks=("builtin eval 'touch x'",)),
    "eval trap": Program(check=check_eval, unknown_words=True, asks=("eval ls", "trap 'touch x' EXIT")),
    "exec": Program(check=check_exec, asks=("exec ls",)),
    "exit return break continue": Program(check=check_exit),
    "set": Program(check=check_set, reads=("set -euo pipefail; ls",), asks=("set", "set -o posix", "set -- a")),
    "ulimit": Program("-aSHbcdefiklmnpqrstuvxPRT", asks=("ulimit -n 1",)),
    "umask": Program("-Sp", asks=("umask 000",)),
    "times jobs wait": Program(""),
    "help": Program("-dms", "text*", reads=("help cd",)),
    "let": Program(check=check_eval, unknown_words=True, asks=("let x",)),
}
