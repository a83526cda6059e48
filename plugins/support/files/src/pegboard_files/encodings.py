"""Convert between bytes and text without loss: encodings and line endings."""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from pegboard import ToolError

SAMPLE_BYTES = 4096
BINARY_SHARE = 0.3
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The longer marks come first: that of UTF-32 begins like that of UTF-16."""
CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b") + b"\x7f"
STATEFUL = ("utf-7", "iso2022", "hz", "idna", "punycode", "unicode-escape", "raw-unicode-escape")
"""In these the same bytes mean different text depending on what came before, so a piece cannot be replaced alone."""

Guess = Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class Charset:
    """The encoding of a file, and how it was detected."""

    encoding: str
    bom: bytes = b""
    found_by: str = "utf-8"
    """`bom`, `utf-8`, `declared`, `guess` or `given`."""


class NotTextError(Exception):
    """The bytes are no text in any encoding that could be made out; `binary` tells the two cases apart."""

    def __init__(self, *, binary: bool) -> None:
        super().__init__("binary" if binary else "unknown encoding")
        self.binary = binary


@lru_cache(maxsize=64)
def canonical(name: str) -> str:
    """The name of a text encoding as we write it; a `ToolError` when there is none of that name."""
    try:
        found = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        raise ToolError(f"There is no text encoding {name!r}. Use a name such as utf-8, cp1252 or shift_jis.") from None
    if not getattr(found, "_is_text_encoding", True):
        raise ToolError(f"{name!r} is not a text encoding. Use a name such as utf-8, cp1252 or shift_jis.")
    spelled = found.name.replace("_", "-")
    same = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le", "iso8859-1": "latin-1"}
    return same.get(spelled, found.name)


def is_stateful(encoding: str) -> bool:
    """Whether a piece of text in this encoding cannot be replaced on its own."""
    return codecs.lookup(encoding).name.replace("_", "-").startswith(STATEFUL)


def is_ascii_based(encoding: str) -> bool:
    """Whether the byte 10 is always a line feed and nothing else."""
    return not encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32"))


def bom_of(head: bytes) -> tuple[bytes, str] | None:
    """The byte order mark that the bytes begin with, and the encoding it means."""
    for mark, encoding in BOMS:
        if head.startswith(mark):
            return mark, encoding
    return None


def mark_for(encoding: str) -> bytes:
    """The byte order mark of a Unicode encoding; nothing for the others."""
    return next((mark for mark, name in BOMS if name == encoding), b"")


def is_binary(sample: bytes) -> bool:
    """Whether bytes without a mark look like anything but text: a NUL, or too many control bytes."""
    sample = sample[:SAMPLE_BYTES]
    if b"\0" in sample:
        return True
    return len(sample) - len(sample.translate(None, CONTROLS)) > len(sample) * BINARY_SHARE


def charset_of(
    data: bytes,
    *,
    whole: bool = True,
    declared: Callable[[], str | None] = lambda: None,
    guess: Guess | None = None,
) -> Charset:
    """The encoding of these bytes: mark, strict UTF-8, what the project declares, a sure guess; or `NotTextError`.

    With `whole` false the bytes are the head of a file and may end inside a character.
    """
    marked = bom_of(data)
    if marked:
        return Charset(marked[1], marked[0], "bom")
    if not is_binary(data):
        if is_valid(data, "utf-8", whole=whole):
            return Charset("utf-8")
        said = declared()
        if said and is_valid(data, said, whole=whole):
            return Charset(said, found_by="declared")
        guessed = guess(data) if guess else None
        if guessed and is_valid(data, guessed, whole=whole):
            return Charset(guessed, found_by="guess")
        raise NotTextError(binary=False)
    said = declared()
    if said and not is_ascii_based(said) and is_valid(data, said, whole=whole):
        return Charset(said, found_by="declared")
    raise NotTextError(binary=True)


def is_valid(data: bytes, encoding: str, *, whole: bool = True) -> bool:
    """Whether the bytes are text in this encoding."""
    try:
        if whole:
            data.decode(encoding)
        else:
            codecs.getincrementaldecoder(encoding)("strict").decode(data)
    except UnicodeDecodeError:
        return False
    return True


def decode(data: bytes, encoding: str, name: str) -> str:
    """The text, every byte accounted for; a `ToolError` names the place of the first byte that cannot be decoded."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = f"byte {error.start} (0x{data[error.start]:02x}, line {line})"
        reason = f"{name} is not {encoding} text: {place} cannot be decoded."
        raise ToolError(f"{reason} Read it with the right encoding first.", code="unsupported") from None


def encode(text: str, encoding: str, name: str) -> bytes:
    """The bytes; a `ToolError` names the first character that the encoding cannot hold."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        line = text.count("\n", 0, error.start) + 1
        what = "a lone surrogate" if "\ud800" <= character <= "\udfff" else repr(character)
        place = f"U+{ord(character):04X}, line {line} of the result"
        reason = f"{name} is {encoding} text, which cannot represent {what} ({place})."
        remedy = f"Nothing was changed. Use only characters of {encoding}, or ask the user to convert the file."
        raise ToolError(f"{reason} {remedy}") from None


def newline_of(text: str) -> tuple[str, bool]:
    """How most lines end, and whether some end otherwise. A lone return ends a line only where nothing else does."""
    if "\r" not in text:
        return "\n", False
    pairs, feeds = text.count("\r\n"), text.count("\n")
    if not feeds:
        return "\r", False
    return ("\r\n" if pairs * 2 > feeds else "\n"), 0 < pairs < feeds


def view_of(text: str, newline: str) -> str:
    """The text as it is shown and matched: every line ends with a line feed."""
    if "\r" not in text:
        return text
    return text.replace("\r", "\n") if newline == "\r" else text.replace("\r\n", "\n")


class Places:
    """From a place in the view of a text back to the place in the text itself."""

    def __init__(self, text: str, newline: str) -> None:
        self._pairs: list[int] = []
        if newline != "\r" and "\r\n" in text:
            pieces = text.split("\r\n")
            self._pairs = [end + number for number, end in enumerate(accumulate(map(len, pieces[:-1])))]

    def original(self, at: int) -> int:
        """Where the character that the view has at `at` begins."""
        return at + bisect_left(self._pairs, at)
