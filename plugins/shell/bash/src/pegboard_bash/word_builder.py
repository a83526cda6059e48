"""A word under construction: its characters, which of them quotes protect, and the holes that the shell fills."""

from __future__ import annotations

import re
from itertools import pairwise, product

UNKNOWN = "\0"
"""The placeholder in a word for what only the running shell knows. No command contains a NUL byte itself."""

Shape = tuple[str, str, tuple[str, ...]]
"""What a word is before anything is looked up: its text with a NUL for each hole, how it is quoted, its holes."""

MOST_WORDS = 64
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
ESCAPES |= {"\\": "\\", "'": "'", '"': '"', "?": "?"}
ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
SPAN = re.compile(r"(\d{1,4})\.\.(\d{1,4})")
LATE_TILDE = re.compile(r"[=:]~")
"""bash replaces a `~` behind `=` and `:` as well, but only in some words: doubt."""


class WordBuilder:
    """Pieces of a word in order. A piece is text, unquoted (`u`) or quoted (`q`), or a hole with its kind."""

    __slots__ = ("known", "pieces")

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []
        self.known = True

    def add(self, text: str, *, quoted: bool) -> None:
        """Append characters."""
        self.pieces.append((text, "q" if quoted else "u"))

    def add_hole(self, kind: str, value: str | None = None, *, quoted: bool = False) -> None:
        """Append what the shell fills in: a variable, a substitution. Its value is known, or only when it runs."""
        self.pieces.append((UNKNOWN if value is None else value, f'"{kind}' if quoted else kind))
        self.known = self.known and value is not None

    def add_unknown(self) -> None:
        """Append something that this reading cannot make out."""
        self.add_hole("?")

    @property
    def text(self) -> str:
        """The word after the removal of quotes."""
        return "".join(text for text, _ in self.pieces)

    @property
    def mask(self) -> str:
        """For each character of the text whether the shell may still act on it (`u`) or not (`q`)."""
        return "".join(("u" if how == "u" else "q") * len(text) for text, how in self.pieces)

    @property
    def shape(self) -> Shape:
        """The word as two readings of the same source compare it: values of variables play no part."""
        texts, masks, holes = [], [], []
        for text, how in self.pieces:
            if how in ("u", "q"):
                texts.append(text)
                masks.append(how * len(text))
            else:
                texts.append(UNKNOWN)
                masks.append("h")
                holes.append(how)
        return "".join(texts), "".join(masks), tuple(holes)


def add_ansi(text: str, into: WordBuilder) -> None:
    """The inside of `$'…'`. Escapes that depend on the locale, and those for a NUL, are not resolved."""
    at = 0
    for found in ANSI.finditer(text):
        into.add(text[at : found.start()], quoted=True)
        code, at = found[1], found.end()
        if code in ESCAPES:
            into.add(ESCAPES[code], quoted=True)
        elif code[0] == "x" and len(code) > 1 and 0 < int(code[1:], 16) < 128:
            into.add(chr(int(code[1:], 16)), quoted=True)
        elif code[0] in "01234567" and 0 < int(code, 8) < 128:
            into.add(chr(int(code, 8)), quoted=True)
        else:
            into.add_hole("\\", quoted=True)
    into.add(text[at:], quoted=True)


Masked = tuple[str, str]
"""A text and its mask."""


def is_pattern(text: str, mask: str) -> bool:
    """Whether the shell would look for files. A `[` counts only where some `]` follows."""
    for at, (sign, how) in enumerate(zip(text, mask, strict=True)):
        if how == "u" and (sign in "*?" or (sign == "[" and "]" in text[at:])):
            return True
        if how == "u" and sign == "[":
            return any(each in "*?" and kind == "u" for each, kind in zip(text[at:], mask[at:], strict=True))
    return False


def has_late_tilde(text: str, mask: str) -> bool:
    """Whether a `~` that is not at the beginning may be expanded."""
    return any(mask[found.start() : found.end()] == "uu" for found in LATE_TILDE.finditer(text))


def expand_braces(text: str, mask: str) -> list[Masked] | None:
    """The words that braces make: `{a,b}` and `{1..3}`, not nested. None where it is more than that."""
    opened = [at for at, sign in enumerate(text) if sign in "{}" and mask[at] == "u"]
    if not opened:
        return [(text, mask)]
    pieces: list[list[Masked]] = []
    at, count = 0, 1
    for left, right in zip(opened[::2], opened[1::2], strict=False):
        choices = _choices(text, mask, left, right) if text[left] + text[right] == "{}" else None
        if choices is None or (count := count * len(choices)) > MOST_WORDS:
            return None
        pieces += [[(text[at:left], mask[at:left])], choices]
        at = right + 1
    if len(opened) % 2:
        return None
    pieces.append([(text[at:], mask[at:])])
    words = [("".join(part[0] for part in made), "".join(part[1] for part in made)) for made in product(*pieces)]
    # An empty word without quotes vanishes, and with quotes elsewhere in the source it stays.
    return words if all(made for made, _ in words) else None


def _choices(text: str, mask: str, left: int, right: int) -> list[Masked] | None:
    cuts = [at for at in range(left + 1, right) if text[at] == "," and mask[at] == "u"]
    if cuts:
        edges = [left, *cuts, right]
        return [(text[begin + 1 : end], mask[begin + 1 : end]) for begin, end in pairwise(edges)]
    inside = text[left + 1 : right]
    if ".." not in inside:
        return [(text[left : right + 1], mask[left : right + 1])]
    span = SPAN.fullmatch(inside)
    # A leading zero on either side pads all of them, and quotes inside make it a plain word.
    if not span or "q" in mask[left:right] or any(len(edge) > 1 and edge[0] == "0" for edge in span.groups()):
        return None
    first, last = int(span[1]), int(span[2])
    step = 1 if first <= last else -1
    if abs(last - first) >= MOST_WORDS:
        return None
    return [(str(number), "q" * len(str(number))) for number in range(first, last + step, step)]
