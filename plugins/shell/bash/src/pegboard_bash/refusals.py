"""Commands that would wait for a person who is not there, and what to do instead."""

from __future__ import annotations

import re

from pegboard_bash.shape import Words, program_of, shape_of

EDITORS = frozenset({"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "joe", "micro", "hx", "ed"})
PAGERS = frozenset({"less", "more", "most"})
SCREENS = frozenset({"htop", "btop", "tmux", "screen", "watch", "mc"})
ADVICE = {
    "editor": "Use Edit or Write to change files.",
    "pager": "Leave it out: output is never paged. To see part of a file, use Read, head or tail.",
    "screen": "It needs a terminal, and there is none. Use a command that prints its output and exits.",
    "top": "Use `top -b -n 1`, or ps.",
    "patch": "Name the files, or apply a patch with `git apply --cached`.",
    "rebase": "Set GIT_SEQUENCE_EDITOR to a command that edits the list, or use `git rebase --onto` or `git reset`.",
}
UNATTENDED = frozenset({"--version", "--help", "--batch", "-batch", "-es", "-Es", "-s", "-V"})
LONG_SLEEP = 20
SECONDS = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
ASIDE = re.compile(r"(?<![&>])&(?![&>])")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
SLEPT = (
    "A long sleep blocks everything else. "
    "Start what you wait for with run_in_background; you will be told when it ends."
)


def why_interactive(command: str) -> str | None:
    """Why a command cannot be run without a person at a terminal, with advice; None when it can."""
    for words in shape_of(command).commands:
        kind = _kind(words, command)
        if kind:
            name = program_of(words)
            return f"{name} needs a person at a terminal, and there is none. {ADVICE[kind]}"
    return None


def _kind(words: Words, command: str) -> str:
    name, options = program_of(words), set(words[1:])
    if options & UNATTENDED:
        return ""
    if name in EDITORS:
        # An ed script comes on standard input; every other editor needs a screen.
        return "" if name == "ed" and "<<" in command else "editor"
    if name in PAGERS:
        return "pager"
    if name in SCREENS:
        return "" if name in ("tmux", "screen") and len(words) > 1 else "screen"
    if name == "top":
        return "" if any(option.startswith("-") and "b" in option for option in options) else "top"
    if name == "git rebase" and options & {"-i", "--interactive"}:
        return "" if re.search(r"(SEQUENCE_|GIT_|core\.|sequence\.)EDITOR", command, re.IGNORECASE) else "rebase"
    if name in ("git add", "git checkout", "git reset", "git stash") and options & {"-p", "--patch", "--interactive"}:
        return "" if "|" in command else "patch"
    return ""


def sleeps_long(command: str) -> bool:
    """Whether a command begins by waiting for long."""
    commands = shape_of(command).commands
    if not commands or program_of(commands[0]) != "sleep" or ASIDE.search(command):
        return False
    found = [SECONDS.fullmatch(word) for word in commands[0][1:]]
    return sum(float(each[1]) * UNITS[each[2]] for each in found if each) >= LONG_SLEEP


def may_go_on_in_background(command: str) -> bool:
    """Whether a command that takes too long may continue: no sleep, no git, nothing unknown."""
    shape = shape_of(command)
    if not shape.whole or not shape.commands or "git" in command:
        return False
    return program_of(shape.commands[0]) != "sleep"
