"""A command's words against what is known of its program."""

from __future__ import annotations

from pegboard_bash.deeds import Deed
from pegboard_bash.programs import Grammar, Program
from pegboard_bash.words import UNKNOWN, Word


def judge(program: Program, words: list[Word], deed: Deed) -> None:
    """Note in `deed` what a program would do with these words, those after its name."""
    if program.subcommands:
        found = _subcommand(program, words, deed)
        if found is not None:
            judge(found[0], found[1], deed)
        return
    if program.open_world:
        deed.open_world = True
    if program.changes:
        deed.changes(program.changes)
    if program.destructive:
        deed.destructive = True
    if not program.unknown_words:
        _require_literal(program, words, deed)
    if program.check is not None:
        program.check(words, deed)
    if program.options or program.check is None or program.operands != "none":
        _match(program, words, deed)


def _subcommand(program: Program, words: list[Word], deed: Deed) -> tuple[Program, list[Word]] | None:
    """The subcommand that is meant. Options before it must be described by the program itself."""
    if not words:
        deed.refuse(f"What {deed.program} does by itself is not known.")
        return None
    first = words[0]
    found = program.subcommands.get(first.text) if first.literal and not first.glob else None
    if found is None:
        deed.refuse(f"{deed.program} {_shown(first)} is not known to only read.")
        return None
    deed.program = f"{deed.program} {first.text}"
    return found, words[1:]


def _require_literal(program: Program, words: list[Word], deed: Deed) -> None:
    for word in words:
        if not word.literal:
            deed.refuse(f"What {word.source} means is known only when it runs.")
        elif word.glob and not program.glob:
            deed.refuse(f"{word.source} may stand for an option of {deed.program}. Quote it, or name the files.")


def _match(program: Program, words: list[Word], deed: Deed) -> None:
    grammar = program.grammar
    operands: list[Word] = []
    at, ended = 0, False
    while at < len(words):
        word, at = words[at], at + 1
        text = word.text
        if ended or len(text) < 2 or text[0] not in "-+" or (text[0] == "+" and not grammar.plus):
            operands.append(word)
            if _command_starts(grammar, len(operands)):
                operands += words[at:]
                break
        elif text == "--":
            ended = True
        elif text[1:].isdigit() and (grammar.numbers if text[0] == "-" else grammar.plus):
            continue
        elif text.startswith("--"):
            at = _long(grammar, words, at, deed)
        else:
            at = _bundle(grammar, words, at, deed)
    _operands(program, operands, deed)


def _command_starts(grammar: Grammar, count: int) -> bool:
    kinds = grammar.operands
    return kinds[count - 1] == "program" if count <= len(kinds) else grammar.more == "program"


def _long(grammar: Grammar, words: list[Word], at: int, deed: Deed) -> int:
    word = words[at - 1]
    name, given, value = word.text[2:].partition("=")
    value_of, kind = grammar.long.get(name, ("", ""))
    if name not in grammar.long or (given and not value_of):
        deed.refuse(f"The option --{name.replace(UNKNOWN, '…')} of {deed.program} is not known to only read.")
    elif given:
        _value(kind, Word(value, word.source, word.literal, word.glob), deed)
    elif value_of == ":":
        if at == len(words):
            deed.refuse(f"The option --{name} of {deed.program} lacks its value.")
        else:
            _value(kind, words[at], deed)
        return at + 1
    return at


def _bundle(grammar: Grammar, words: list[Word], at: int, deed: Deed) -> int:
    word = words[at - 1]
    letters = word.text[1:]
    for position, letter in enumerate(letters):
        if letter not in grammar.short:
            shown = letter if letter.isprintable() else "…"
            deed.refuse(f"The option -{shown} of {deed.program} is not known to only read.")
            return at
        value_of, kind = grammar.short[letter]
        if not value_of:
            continue
        rest = letters[position + 1 :]
        if rest or value_of == "?":
            _value(kind, Word(rest, word.source, word.literal, word.glob), deed)
            return at
        if at == len(words):
            deed.refuse(f"The option -{letter} of {deed.program} lacks its value.")
            return at
        _value(kind, words[at], deed)
        return at + 1
    return at


def _value(kind: str, word: Word, deed: Deed) -> None:
    if kind == "read" and word.text != "-":
        deed.read(word)
    elif kind == "write":
        deed.write(word)
    elif kind == "delete":
        deed.delete(word)


def _operands(program: Program, operands: list[Word], deed: Deed) -> None:
    grammar = program.grammar
    if len(operands) < grammar.required and "program" not in grammar.operands:
        deed.refuse(f"{deed.program} is given less than it needs.")
    touched = False
    for position, word in enumerate(operands):
        kind = grammar.operands[position] if position < len(grammar.operands) else grammar.more
        if kind == "program":
            deed.inner.append(operands[position:])
            deed.strip = program.wrapper == "strip"
            return
        if not kind:
            deed.refuse(f"{_shown(word)} is more than {deed.program} takes when it only reads.")
        elif kind != "text":
            touched = True
            _value(kind, word, deed)
    if program.reads_cwd and not touched:
        deed.reads += deed.place.cwds


def _shown(word: Word) -> str:
    return word.source if word.source.isprintable() else "a word"
