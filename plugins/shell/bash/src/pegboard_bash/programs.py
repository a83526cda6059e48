"""Programs as data: which options and operands of a program only read. Plugins add their own.

A line describes an option. What is not described is not known, and a command with it asks.

    -abc          short options without a value, which may be bundled
    -n:           a short option with a value, attached or in the next word; `-n?` only attached, and it may be absent
    -f:read       the value is a file that is read; likewise `write`, `delete`
    --name        a long option without a value; only the full name counts
    --name=       with a value; `--name=?` with one that may be absent; `--name=read` with a file; `--name=2` with two
    -#   +#       a number as an option, as in `head -5`, `tail +3`

Operands are given in order: `text`, `read`, `write`, `delete`, `program` (all that follows is a command of its own),
`none`; with `?` for one that may be absent, with `*` for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pegboard_bash.effects import Effects
from pegboard_bash.words import Word

Check = Callable[[list[Word], Effects], None]
KINDS = ("text", "read", "write", "delete", "program", "none")


@dataclass(frozen=True)
class Program:
    """What is known of a program, or of one of its subcommands."""

    options: str = ""
    operands: str = "none"
    check: Check | None = None
    """Looks at the words after the program itself. With `options` and `operands` both are asked."""
    subcommands: Mapping[str, Program] = field(default_factory=dict)
    glob: bool = False
    """Whether none of its options can do harm, so that a pattern may match any file name."""
    unknown_words: bool = False
    """Whether even a word that only the shell knows cannot do harm, as with `echo`."""
    only_with: str = ""
    """Options of which one must be given, because without them it does more than read, as with `gzip -l`."""
    listed: bool = False
    """Whether `xargs` may give it any words, options too: it must never open a file or a folder that is named."""
    reads_cwd: bool = False
    """Whether it looks at the working directory when no file is named."""
    open_world: bool = False
    changes: str = ""
    """What it changes, in words, where it does not only read; its effects are still described."""
    destructive: bool = False
    wrapper: str = ""
    """`strip` where rules look at the command it runs instead; `see` where only restricting rules do."""
    reads: tuple[str, ...] = ()
    """Examples that must be taken for reading."""
    asks: tuple[str, ...] = ()
    """Examples that must not."""

    @cached_property
    def grammar(self) -> Grammar:
        """The options and operands, ready for comparison."""
        return Grammar(self.options, self.operands)


class Grammar:
    """Options and operands of a program, taken apart once."""

    __slots__ = ("long", "more", "numbers", "operands", "plus", "required", "short")

    def __init__(self, options: str, operands: str) -> None:
        self.short: dict[str, tuple[str, str]] = {}
        """By letter: whether a value follows ("" none, ":" yes, "?" attached only), and its kind."""
        self.long: dict[str, tuple[str, str]] = {}
        self.numbers = self.plus = False
        for each in options.split():
            self._option(each)
        if "version" in self.long:
            self.long["help"] = ("", "")  # The GNU programs, which tell both and end.
        given = [] if operands == "none" else operands.split()
        self.more = given.pop()[:-1] if given and given[-1].endswith("*") else ""
        self.operands = [kind.rstrip("?") for kind in given]
        self.required = sum(not kind.endswith("?") for kind in given)
        for kind in (*self.operands, self.more or "none"):
            if kind not in KINDS:
                raise ValueError(f"{kind!r} is not a kind of operand. Use one of {', '.join(KINDS)}.")

    def _option(self, option: str) -> None:
        if option in ("-#", "+#"):
            self.numbers, self.plus = self.numbers or option == "-#", self.plus or option == "+#"
        elif option.startswith("--"):
            name, has_value, kind = option[2:].partition("=")
            value = "" if not has_value else kind if kind in ("?", "2") else ":"
            self.long[name] = (value, kind if kind in KINDS else "text")
        elif len(option) > 2 and option[2] in ":?":
            self.short[option[1]] = (option[2], option[3:] or "text")
        else:
            self.short.update(dict.fromkeys(option[1:], ("", "")))


_programs: dict[str, Program] = {}
_replaced: set[str] = set()
_loaded = False


def register_programs(programs: Mapping[str, Program], *, replace: bool = False) -> None:
    """Teach the classifier programs of your own. A name that is known stays as it is unless `replace` is given."""
    for names, program in programs.items():
        for name in names.split():
            if replace or name not in _programs:
                _programs[name] = program
            if replace:
                _replaced.add(name)


def program_of(name: str) -> Program | None:
    """What is known of a program; the table is read on first use."""
    global _loaded
    if not _loaded:
        # The table is some hundred lines of data: 5 ms that only a session with shell commands should pay.
        from pegboard_bash.table import TABLES

        _loaded = True
        for table in TABLES:
            for names, program in table.items():
                # A plugin that was loaded before is no exception: what the table knows stays, unless it said replace.
                _programs.update(dict.fromkeys(set(names.split()) - _replaced, program))
    return _programs.get(name)


def known_programs() -> Iterable[tuple[str, Program]]:
    """Every program with its name."""
    program_of("")
    return _programs.items()
