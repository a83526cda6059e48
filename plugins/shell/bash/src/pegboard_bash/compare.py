"""Compare both readings of a text: what they agree on is judged, everything else asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pegboard import Part
from pegboard_bash.canonical import problem_with_bash
from pegboard_bash.effects import Effects
from pegboard_bash.lexer import Token
from pegboard_bash.second_reading import WITH_SHAPE, SecondReading, needs_bash, second_reading
from pegboard_bash.simple import SHELLS, absorb, read_command
from pegboard_bash.words import Word, finished

if TYPE_CHECKING:
    from pegboard_bash.marks import Marks
    from pegboard_bash.walk import Walk

MOST_SCRIPTS = 8
WITH_TARGET = 3
HERE = ("<<", "<<-", "<<<")
"""Input that is in the command itself."""


def compare(walk: Walk, text: str) -> None:
    """Hold the walk against the second reading. Where they differ it asks, and rules that restrict see both."""
    second = second_reading(text)
    problem = disagreement(walk.record, second)
    if not problem and needs_bash(text) and not walk.depth:
        problem = problem_with_bash(text)
    if problem:
        walk.effects.refuse(problem)
        walk.collapse(text)
    if problem or walk.record.spans or walk.exhausted:
        add_second_reading(walk, text)


def add_second_reading(walk: Walk, text: str) -> None:
    """Show the commands of our own reading to rules that restrict."""
    second = second_reading(text)
    # With a part that is in doubt anyway: a part of its own would need a rule of its own.
    doubtful = next((part.text for part in walk.parts.values() if part.exact), text)
    walk.add(Part(doubtful, tuple(_spellings(second, walk)), exact=True))
    if walk.exhausted:
        _add_redirects(second, walk)


def _add_redirects(second: SecondReading, walk: Walk) -> None:
    """The files of redirects, where the first reading has not seen them all."""
    effects = Effects(walk.place, "A redirect")
    for kind, *rest in second.marks:
        if kind == "redirect" and len(rest) == WITH_TARGET and rest[1] not in HERE:
            target = rest[2]
            word = Word(target[2][0] if len(target) == WITH_SHAPE else target[1], target[1])
            if "&" in rest[1] and word.text.isdigit():
                continue  # `2>&1` names no file.
            effects.read(word) if rest[1] in ("<", "<&") else effects.write(word)
    absorb(walk.effects, effects)


def disagreement(record: Marks, second: SecondReading) -> str:
    """What the two readings do not agree on, as a sentence; empty when they agree."""
    if second.doubt:
        return f"It cannot be parsed reliably: {second.doubt}."
    differing = record.marks ^ second.marks
    if record.spans:
        differing = {mark for mark in differing if not _within(_place(mark), record.spans)}
    if not differing:
        return ""
    return f"Two parsers disagree about it from character {min(map(_place, differing)) + 1} on."


def _place(mark: object) -> int:
    """The position of a mark: its first number."""
    while isinstance(mark, tuple):
        mark = mark[1] if isinstance(mark[0], str) else mark[0]
    return mark if isinstance(mark, int) else 0


def _within(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _spellings(second: SecondReading, walk: Walk) -> Iterator[str]:
    """How rules that restrict may read the commands that our own reading found. Their files count as well."""
    scripts, seen = 0, set[tuple[str, ...]]()
    for command in second.commands:
        spelling = tuple(token.source for token in command.words)
        if spelling in seen and not command.given:
            continue
        seen.add(spelling)
        words = [word for token in command.words for word in _words(token, walk.place.home)]
        if not words:
            continue
        walk.limit_patterns(words)
        reading = read_command(words, walk.place, walk.depth)
        absorb(walk.effects, reading.effects)
        yield from (reading.text, *reading.also)
        given = command.given if reading.effects.program in SHELLS else []
        for script in (*reading.effects.subtexts, *given)[: MOST_SCRIPTS - scripts]:
            scripts += 1
            yield from walk.spellings_of(script)


def _words(token: Token, home: str) -> list[Word]:
    return [Word(token.source)] if token.spelling is None else finished(token.spelling, token.source, home)
