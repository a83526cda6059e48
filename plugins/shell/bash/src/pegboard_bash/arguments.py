"""A command's words against what is known of its program."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Grammar, Program
from pegboard_bash.words import UNKNOWN, Word

OPTION_LIKE = re.compile(r"-[^\d.,]")
"""A next word that looks like an option: some programs take it for the value they wait for, others for an option."""


def judge(program: Program, words: list[Word], effects: Effects) -> None:
    """Note in `effects` what a program would do with these words, those after its name."""
    if program.subcommands:
        found = _subcommand(program, words, effects)
        if found is not None:
            judge(found[0], found[1], effects)
        return
    if program.open_world:
        effects.open_world = True
    if program.changes:
        effects.changes(program.changes)
    if program.destructive:
        effects.destructive = True
    if not program.unknown_words:
        _require_literal(program, _own_words(program, words), effects)
    if program.check is not None:
        program.check(words, effects)
    if program.options or program.check is None or program.operands != "none":
        _match(program, words, effects)


def _subcommand(program: Program, words: list[Word], effects: Effects) -> tuple[Program, list[Word]] | None:
    """The subcommand that is meant. Options before it must be described by the program itself."""
    if not words:
        effects.refuse(f"What {effects.program} does without a subcommand is not known.")
        return None
    first = words[0]
    found = program.subcommands.get(first.text) if first.literal and not first.glob else None
    if found is None:
        effects.refuse(f"{effects.program} {_shown(first)} may change something.")
        return None
    effects.program = f"{effects.program} {first.text}"
    return found, words[1:]


def _require_literal(program: Program, words: list[Word], effects: Effects) -> None:
    ended = False
    for word in words:
        if not word.literal:
            effects.refuse(f"The value of {word.source} is known only when it runs.")
        elif word.glob and (problem := _problem_of_pattern(program, word, effects, ended=ended)):
            effects.refuse(problem)
        ended = ended or word.text == "--"


def _problem_of_pattern(program: Program, word: Word, effects: Effects, *, ended: bool) -> str:
    """Why a pattern may become something else than files, as a sentence; empty when it cannot."""
    opens = not ended and word.text[0] in "*?[-+"
    if (opens or not program.options) and not program.glob:
        return f"{word.source} may expand to an option of {effects.program}. Quote it, or name the files."
    if not opens:
        return ""
    found = effects.named_by(word)
    if found is None or (found and word.text[0] in "-+"):
        return f"{word.source} may expand to an option of {effects.program}. Write ./ before it."
    signs = ("-", "+") if program.grammar.plus else ("-",)
    options = [name for name in found if name.startswith(signs)]
    if options:
        return f"{word.source} matches {options[0]!r}, which {effects.program} takes as an option. Write ./ before it."
    return ""


def _own_words(program: Program, words: list[Word]) -> list[Word]:
    """The words that are the program's own, without those of a command that it runs."""
    grammar = program.grammar
    if "program" not in grammar.operands:
        return words
    given = take_apart(grammar, words, lenient=program.glob)
    return words[: len(words) - len(given.operands[grammar.operands.index("program") :])]


class ParsedArguments:
    """The words of a command, taken apart: its options in order, each with its value, and its operands."""

    __slots__ = ("ended", "operands", "options", "problem")

    def __init__(self) -> None:
        self.options: list[tuple[str, str, Word | None]] = []
        """Name, kind of the value, value."""
        self.operands: list[Word] = []
        self.problem = ""
        """Why it could not be taken apart with certainty: the first reason, without the program's name."""
        self.ended = False
        """Whether a `--` says that no options follow."""

    def doubt(self, problem: str) -> None:
        """Something is not known; the rest is still parsed, for the rules that restrict."""
        self.problem = self.problem or problem

    def has(self, names: str) -> bool:
        """Whether one of these options is given."""
        wanted = names.split()
        return any(name in wanted for name, _, _ in self.options)


def take_apart(grammar: Grammar, words: list[Word], *, lenient: bool = False) -> ParsedArguments:
    """Options and operands as a program with this grammar reads them. `lenient`: a value may look like an option."""
    given = ParsedArguments()
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        text = word.text
        if given.ended or len(text) < 2 or text[0] not in "-+" or (text[0] == "+" and not grammar.plus):
            given.operands.append(word)
            if _command_starts(grammar, len(given.operands)):
                given.operands += words[at:]
                break
        elif text == "--":
            given.ended = True
        elif text[1:].isdigit() and (grammar.numbers if text[0] == "-" else grammar.plus):
            given.options.append((text[0] + "#", "text", word))
        else:
            take = _long if text.startswith("--") else _bundle
            at = take(grammar, words, at, given, lenient)
    return given


def _command_starts(grammar: Grammar, count: int) -> bool:
    kinds = grammar.operands
    return kinds[count - 1] == "program" if count <= len(kinds) else grammar.more == "program"


def _long(grammar: Grammar, words: list[Word], at: int, given: ParsedArguments, lenient: bool) -> int:
    word = words[at - 1]
    name, sign, value = word.text[2:].partition("=")
    value_of, kind = grammar.long.get(name, ("", ""))
    if name not in grammar.long or (sign and not value_of):
        given.doubt(f"The option --{name.replace(UNKNOWN, '…')} of {{}} may change something.")
    elif value_of == "2" and not sign and at + 1 < len(words):
        given.options.append((f"--{name}", kind, words[at]))
        return at + 2
    elif sign:
        given.options.append((f"--{name}", kind, Word(value, word.source, word.literal)))
    elif value_of == ":":
        return _next(f"--{name}", kind, words, at, given, lenient)
    else:
        given.options.append((f"--{name}", kind, None))
    return at


def _bundle(grammar: Grammar, words: list[Word], at: int, given: ParsedArguments, lenient: bool) -> int:
    word = words[at - 1]
    letters = word.text[1:]
    for position, letter in enumerate(letters):
        if letter not in grammar.short:
            shown = letter if letter.isprintable() else "…"
            given.doubt(f"The option -{shown} of {{}} may change something.")
            return at
        value_of, kind = grammar.short[letter]
        rest = letters[position + 1 :]
        if not value_of:
            given.options.append((f"-{letter}", kind, None))
        elif rest or value_of == "?":
            value = Word(rest, word.source, word.literal) if rest else None
            given.options.append((f"-{letter}", kind, value))
            return at
        else:
            return _next(f"-{letter}", kind, words, at, given, lenient)
    return at


def _next(option: str, kind: str, words: list[Word], at: int, given: ParsedArguments, lenient: bool) -> int:
    """The value of an option in a word of its own."""
    if at == len(words):
        given.doubt(f"The option {option} of {{}} has no value.")
    else:
        given.options.append((option, kind, words[at]))
        if not lenient and OPTION_LIKE.match(words[at].text):
            given.doubt(f"{_shown(words[at])} may be the value of {option} of {{}}, or a separate option.")
    return at + 1


def _match(program: Program, words: list[Word], effects: Effects) -> None:
    given = take_apart(program.grammar, words, lenient=program.glob)
    if given.problem:
        effects.refuse(given.problem.replace("{}", effects.program))
    for option, kind, value in given.options:
        if value is None:
            continue
        if value.glob:
            effects.refuse(f"{value.source} may expand to several words, and {option} takes only the first.")
        _value(kind, value, effects)
    if program.only_with and not given.has(program.only_with):
        effects.refuse(f"{effects.program} only reads with {program.only_with.split()[0]} or a similar option.")
    _operands(program, given.operands, effects)


def _value(kind: str, word: Word, effects: Effects) -> None:
    if kind == "read" and word.text != "-":
        effects.read(word)
    elif kind == "write":
        effects.write(word)
    elif kind == "delete":
        effects.delete(word)


def _operands(program: Program, operands: list[Word], effects: Effects) -> None:
    grammar = program.grammar
    if len(operands) < grammar.required and "program" not in grammar.operands:
        effects.refuse(f"{effects.program} needs more arguments.")
    touched = False
    for position, word in enumerate(operands):
        kind = grammar.operands[position] if position < len(grammar.operands) else grammar.more
        if kind == "program":
            effects.inner.append(operands[position:])
            effects.strip = program.wrapper == "strip"
            return
        if word.glob and position < len(grammar.operands):
            effects.refuse(
                f"{word.source} may expand to several words, and their positions matter to {effects.program}."
            )
        if not kind:
            effects.refuse(f"{_shown(word)} is an extra argument, with which {effects.program} may change something.")
        elif kind != "text":
            touched = True
            _value(kind, word, effects)
    if program.reads_cwd and not touched:
        effects.reads += effects.place.cwds


def _shown(word: Word) -> str:
    return word.source if word.source.isprintable() else "a word"
