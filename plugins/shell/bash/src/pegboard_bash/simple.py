"""One simple command: what it would do, through every wrapper, and how rules may read it."""

from __future__ import annotations

import re

from pegboard import Part
from pegboard_bash.arguments import judge
from pegboard_bash.effects import Effects, ShellState
from pegboard_bash.program_lookup import is_of_project
from pegboard_bash.programs import program_of
from pegboard_bash.words import UNKNOWN, Word, names

TRUSTED = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin"})
"""Folders whose programs are the ones that their names say. Everything else named by a path is a stranger."""

BUILTINS = names(
    "echo printf true false : test [ pwd cd type command builtin eval exec exit set ulimit umask times jobs wait help "
    "let hash trap return break continue time"
)
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "fish"})
"""Programs that run what they are given, also from their input."""

DEEPEST = 8
MOST_GUESSES = 64
DEFAULT = re.compile(r"\$\{\w+:?[-=+]([^{}$`]*)\}")
"""A variable with the text that takes its place where it is not set, or where it is."""

SAFE_VARIABLES = frozenset(
    {
        *(
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
            "LINES",
            "TERM",
        ),
        *("NODE_ENV", "CI", "DEBIAN_FRONTEND", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "BLOCKSIZE"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8"),
        *("TIME_STYLE", "QUOTING_STYLE", "BLOCK_SIZE", "GREP_COLOR", "GREP_COLORS", "LS_COLORS"),
    }
)
QUIET = frozenset({"PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "BAT_PAGER"})
OFF = frozenset({"GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"})
"""Known to be harmless with the value 0 only. POSIXLY_CORRECT is left out: it turns late options into operands."""

SAFE_VALUE = re.compile(r"[\w.@:+,=;* -]*", re.ASCII)
LOCALE = re.compile(r"|C|POSIX|[\w@-]+\.(utf-?8)", re.ASCII | re.IGNORECASE)
"""Locales in which a byte below 128 is the ASCII character that we see. In others it may be half of another one."""

ZONE = re.compile(r":?[A-Za-z]\w*([/+-]\w+){0,3}", re.ASCII)
GIT_VALUES = re.compile(r"-c|-C|--git-dir|--work-tree|--namespace|--exec-path|--config-env|--super-prefix")


def is_safe_assignment(name: str, value: Word | None) -> bool:
    """Whether a variable before a command only affects how it presents things."""
    if value is None or not value.literal or value.glob:
        return False
    if name in QUIET:
        return value.text in ("", "cat")
    if name in OFF:
        return value.text == "0"
    if name == "LANG" or name.startswith("LC_"):
        return LOCALE.fullmatch(value.text) is not None
    if name == "TZ":
        return ZONE.fullmatch(value.text) is not None
    return (name in SAFE_VARIABLES or name == "LANGUAGE") and SAFE_VALUE.fullmatch(value.text) is not None


class CommandReading:
    """A command as it was understood: its effects, and its spellings for rules."""

    __slots__ = ("also", "effects", "text")

    def __init__(self, effects: Effects, text: str, also: list[str]) -> None:
        self.effects, self.text, self.also = effects, text, also

    def part(self) -> Part:
        """The command as permission rules see it."""
        also = tuple(dict.fromkeys(each for each in self.also if each != self.text))
        return Part(self.text, also, read_only=not self.effects.reason, exact=self.effects.exact)


def read_command(words: list[Word], place: ShellState, depth: int = 0) -> CommandReading:
    """Understand a simple command: a program and its words, without assignments and redirects."""
    effects = Effects(place)
    name = _program(words[0], words[1:], effects)
    text, plain = spelled(words), " ".join(word.text for word in words)
    # With what is not known left out as well: `$x git push` may be `git push`.
    also = [plain, " ".join(plain.replace(UNKNOWN, " ").split())] if UNKNOWN in plain else [plain]
    if depth > DEEPEST:
        effects.refuse("Its commands are too deeply nested to check.")
        return CommandReading(effects, text, also)
    for guess in _likely_names(words[0], effects):
        # Deeper by more than one: patterns behind patterns would multiply.
        reading = read_command([Word(guess), *words[1:]], place, depth + 3)
        also += [reading.text, *reading.also]
    if name == "cd" and depth:
        # Only some wrappers change the directory of this shell, and what follows would be looked at in the wrong one.
        effects.refuse("A cd inside another command may lead somewhere unexpected.")
    if name:
        effects.program = name
        _judge(name, words[1:], effects)
        if name != words[0].text:
            also.append(" ".join([name, *(word.text for word in words[1:])]))
        if name == "git":
            also += _without_git_options(words)
    for inner in effects.inner:
        reading = read_command(inner, place, depth + 1)
        absorb(effects, reading.effects)
        also += [text, reading.text, *reading.also]
        # Allow rules see the inner command: a rule for `timeout` must not allow every command.
        if effects.strip:
            text = reading.text
    return CommandReading(effects, text, [*also, *effects.also])


def _judge(name: str, words: list[Word], effects: Effects) -> None:
    program = program_of(name)
    if program is None:
        effects.refuse(f"What {name} does is not known.")
        return
    judge(program, words, effects)
    if program.wrapper and not effects.inner and not program.check:
        effects.refuse(f"What {name} does without a subcommand is not known.")


def _program(word: Word, rest: list[Word], effects: Effects) -> str:
    if word.source == "{":
        return word.source
    if not word.literal or word.glob or not word.text:
        effects.refuse("Which program it runs is known only when it runs.")
        return ""
    if "/" not in word.text:
        if word.text not in BUILTINS and is_of_project(word.text, effects.place):
            effects.refuse(f"{word.text} is a program of this project, found through PATH.")
        return word.text
    folder, _, name = word.text.rpartition("/")
    if folder not in TRUSTED:
        effects.refuse(f"{word.text} is named by its path, so it may be any program.")
        # It may still be that program, and a deny rule for it must hold.
        effects.also.append(" ".join([name, *(each.text for each in rest)]))
        return ""
    return name


def _likely_names(word: Word, effects: Effects) -> list[str]:
    """Programs that a name may become when it runs, for rules that restrict: `c$@url`, `${x:-curl}`, `/bin/cur?`."""
    if word.literal and not word.glob:
        return []
    if word.literal:
        found = effects.named_by(word) or []
    else:
        found = [word.text.replace(UNKNOWN, "")]
        if (written := DEFAULT.sub(r"\1", word.source)) != word.source:
            found.append(re.sub(r"[\"'\\]", "", written))
    return [name for name in dict.fromkeys(found[:MOST_GUESSES]) if name and not name.isspace()]


def absorb(effects: Effects, inner: Effects) -> None:
    """Take over what an inner command would do."""
    effects.reads += inner.reads
    effects.writes += inner.writes
    effects.deletes += inner.deletes
    effects.hosts += inner.hosts
    effects.reason = effects.reason or inner.reason
    effects.known = effects.known and inner.known
    effects.open_world = effects.open_world or inner.open_world
    effects.destructive = effects.destructive or inner.destructive
    effects.exact = effects.exact or inner.exact
    effects.critical = effects.critical or inner.critical
    effects.subtexts += inner.subtexts
    effects.trees += inner.trees


def spelled(words: list[Word]) -> str:
    """A command as it was written, with one space between words."""
    texts: list[str] = []
    for word in words:
        if "{" in word.source and texts and texts[-1] == word.source:
            continue  # One spelling with braces has become several words.
        texts.append(word.source)
    return " ".join(texts)


def _without_git_options(words: list[Word]) -> list[str]:
    """`git -C elsewhere push` is a `git push` too, for rules that restrict."""
    texts = [word.text for word in words[1:]]
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        at += 2 if GIT_VALUES.fullmatch(texts[at]) else 1
    return [" ".join(["git", *texts[at:]])] if at else []
