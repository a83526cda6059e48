"""Wildcards without regular expressions: patterns come from untrusted repositories.

A pattern is cut at its stars. Each piece is looked for after the one before it, as early as it fits: that is always
right, and takes time in proportion to the pattern times the text, whatever the pattern is.
"""

from __future__ import annotations

from collections.abc import Sequence


def match_pieces(pieces: Sequence[str], text: str, *, word_end: bool = False) -> bool:
    """Whether a text is these pieces in their order, with anything between them.

    With `word_end` the last piece may be followed by a space or a tab and anything.
    """
    first, last = pieces[0], pieces[-1]
    if not text.startswith(first):
        return False
    if len(pieces) == 1:
        return len(text) == len(first) or (word_end and text[len(first)] in " \t")
    at = len(first)
    for piece in pieces[1:-1]:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if text.endswith(last) and len(text) - len(last) >= at:
        return True
    return word_end and _ends_word(text, last, at)


def _ends_word(text: str, piece: str, at: int) -> bool:
    """Whether the piece occurs at or after `at`, followed by a space or a tab."""
    ends = [text.find(f"{piece}{space}", at) for space in " \t"]
    return max(ends) >= 0


class NameGlob:
    """A gitignore pattern for one name of a path: `*`, `?`, `[a-z]`, `[!a-z]`, and a backslash before each."""

    __slots__ = ("_pieces", "_shortest")

    def __init__(self, pattern: str) -> None:
        self._pieces = _parse(pattern)
        self._shortest = sum(map(len, self._pieces))

    def __call__(self, name: str) -> bool:
        """Whether the pattern covers the whole name."""
        pieces = self._pieces
        if len(name) < self._shortest:
            return False
        if len(pieces) == 1:
            return len(name) == len(pieces[0]) and _fits(pieces[0], name, 0)
        first, last = pieces[0], pieces[-1]
        end = len(name) - len(last)
        if not (_fits(first, name, 0) and _fits(last, name, end)):
            return False
        at = len(first)
        for piece in pieces[1:-1]:
            latest = end - len(piece)
            while at <= latest and not _fits(piece, name, at):
                at += 1
            if at > latest:
                return False
            at += len(piece)
        return at <= end


class CharacterClass:
    """`[a-z_]` or `[!0-9]`: one character that is among these, or is not."""

    __slots__ = ("_negated", "_ranges")

    def __init__(self, ranges: Sequence[tuple[str, str]], negated: bool) -> None:
        self._ranges, self._negated = tuple(ranges), negated

    def __eq__(self, character: object) -> bool:
        """Compared with a character as a letter would be."""
        if not isinstance(character, str):
            return NotImplemented
        return any(low <= character <= high for low, high in self._ranges) != self._negated

    __hash__ = None  # type: ignore[assignment]


class _AnyCharacter:
    __slots__ = ()

    def __eq__(self, character: object) -> bool:
        return isinstance(character, str)

    __hash__ = None  # type: ignore[assignment]


ANY = _AnyCharacter()
Token = str | CharacterClass | _AnyCharacter
Piece = list[Token]


def _fits(piece: Piece, name: str, at: int) -> bool:
    if at + len(piece) > len(name):
        return False
    for token in piece:
        if token != name[at]:
            return False
        at += 1
    return True


def _parse(pattern: str) -> list[Piece]:
    pieces: list[Piece] = [[]]
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append([])
        elif character == "?":
            pieces[-1].append(ANY)
        elif character == "\\" and at < len(pattern):
            pieces[-1].append(pattern[at])
            at += 1
        elif character == "[" and (end := _end_of_class(pattern, at)) > 0:
            pieces[-1] += _class(pattern[at:end])
            at = end + 1
        else:
            pieces[-1].append(character)
    return pieces


def _end_of_class(pattern: str, at: int) -> int:
    start = at + 1 if pattern[at : at + 1] in ("!", "^") else at
    return pattern.find("]", start + 1)


def _class(inside: str) -> Piece:
    """The class, or its own text where a range runs backwards."""
    negated = inside[0] in "!^"
    body = inside[1:] if negated else inside
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            ranges.append((body[at], body[at + 2]))
            at += 3
        else:
            ranges.append((body[at], body[at]))
            at += 1
    if any(low > high for low, high in ranges):
        return list(f"[{inside}]")
    return [CharacterClass(ranges, negated)]
