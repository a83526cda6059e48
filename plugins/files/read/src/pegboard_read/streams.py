"""Cut a page of text from a file of any size in little memory: it is read in pieces."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pegboard import ToolError
from pegboard_files.encodings import Charset, is_ascii_based
from pegboard_read.pages import MAX_LINE_CHARS, LinePage, LineRange, shortened, tokens_in, tokens_of_numbers, too_large

PIECE = 1 << 18
COUNTED_BYTES = 64_000_000
"""Larger files are not read to the end, so they have no line count and no digest."""
MOST_FROM_THE_END = 4_000_000_000
SIGN_OF_LIFE = 64_000_000

Tick = Callable[[int], None]
"""Called with the number of bytes read; raises when the call has been cancelled."""


@dataclass(frozen=True, slots=True)
class StreamSurvey:
    """What one pass over the whole file finds."""

    total: int
    digest: str
    newline: str
    mixed: bool


def pieces(file: BinaryIO, start: int, tick: Tick) -> Iterator[bytes]:
    """The bytes from an offset on, in pieces."""
    file.seek(start)
    reported = done = 0
    while piece := file.read(PIECE):
        yield piece
        done += len(piece)
        if done - reported >= SIGN_OF_LIFE:
            reported = done
            tick(done)


def survey(file: BinaryIO, charset: Charset, name: str, tick: Tick) -> StreamSurvey:
    """Count a file's lines, compute its digest, and check that all of it decodes."""
    hashed, decoder = hashlib.sha256(), codecs.getincrementaldecoder(charset.encoding)("strict")
    feeds = pairs = returns = 0
    last, at, skip = "", 0, len(charset.bom)
    for piece in pieces(file, 0, tick):
        hashed.update(piece)
        try:
            text = decoder.decode(piece[skip:])
        except UnicodeDecodeError as error:
            raise _misfit(name, charset.encoding, at + error.start) from None
        at, skip = at + len(piece), 0
        joint = last == "\r" and text.startswith("\n")
        feeds, returns = feeds + text.count("\n"), returns + text.count("\r")
        pairs += text.count("\r\n") + joint
        last = text[-1:] or last
    try:
        last = decoder.decode(b"", True) or last
    except UnicodeDecodeError:
        raise _misfit(name, charset.encoding, at) from None
    newline = "\r" if returns and not feeds else "\r\n" if pairs * 2 > feeds else "\n"
    ends = returns if newline == "\r" else feeds
    total = ends + (last not in ("", newline[-1]))
    return StreamSurvey(total, hashed.hexdigest(), newline, 0 < pairs < feeds)


def page_of_stream(
    file: BinaryIO, charset: Charset, wanted: LineRange, found: StreamSurvey | None, name: str, tick: Tick
) -> LinePage:
    """The page of a file that is read in pieces; without a survey the total stays unknown."""
    newline = found.newline if found else _newline_of_head(file, charset)
    total = found.total if found else None
    if total is None and wanted.offset is not None and wanted.offset < 0:
        total_now = _count(file, charset, newline, tick)
        start = wanted.first(total_now)
    else:
        start = wanted.first(total or 0)
    lines = _lines(_texts(file, charset, start, newline, name, tick), newline)
    chosen, cut, spent, capped, more = list[str](), 0, 0, False, False
    for line, left_out in lines:
        long = left_out > 0 or len(line) > MAX_LINE_CHARS
        shown = shortened(line, left_out) if long else line
        spent += tokens_in(shown) + tokens_of_numbers(1, start + len(chosen))
        if len(chosen) == wanted.most:
            more = True
            break
        if spent > wanted.max_tokens and chosen:
            if wanted.limit is not None:
                raise too_large(wanted.limit, wanted.max_tokens)
            capped = more = True
            break
        chosen.append(shown)
        cut += long
    return LinePage("\n".join(chosen), chosen, start, total, more, cut, capped, newline, bool(found and found.mixed))


def _misfit(name: str, encoding: str, at: int) -> ToolError:
    reason = f"{name} is not valid {encoding} text: it cannot be decoded near byte {at}."
    return ToolError(f"{reason} Give its encoding, such as encoding='cp1252'.", code="unsupported")


def _newline_of_head(file: BinaryIO, charset: Charset) -> str:
    file.seek(0)
    head = file.read(PIECE).decode(charset.encoding, "ignore")
    pairs, feeds = head.count("\r\n"), head.count("\n")
    if not feeds:
        return "\r" if "\r" in head else "\n"
    return "\r\n" if pairs * 2 > feeds else "\n"


def _count(file: BinaryIO, charset: Charset, newline: str, tick: Tick) -> int:
    if file.seek(0, 2) > MOST_FROM_THE_END:
        raise ToolError("The file is too large to count lines from the end. Use tail in Bash.", code="too_large")
    mark = newline[-1].encode(charset.encoding)
    count, last = 0, b""
    if len(mark) == 1:
        for piece in pieces(file, 0, tick):
            count, last = count + piece.count(mark), piece[-1:]
        return count + (last not in (b"", mark))
    texts = _texts(file, charset, 1, newline, "The file", tick)
    return sum(1 for _ in _lines(texts, newline))


def _texts(file: BinaryIO, charset: Charset, start: int, newline: str, name: str, tick: Tick) -> Iterator[str]:
    """The text from line `start` on. Earlier lines are counted without decoding where the encoding permits it."""
    skipped, at = 0, len(charset.bom)
    if start > 1 and is_ascii_based(charset.encoding):
        at, skipped = _place_of_line(file, start, newline[-1].encode(), tick), start - 1
    decoder = codecs.getincrementaldecoder(charset.encoding)("strict")
    for piece in pieces(file, at, tick):
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError:
            raise _misfit(name, charset.encoding, at) from None
        at += len(piece)
        while skipped < start - 1 and text:
            _, mark, text = text.partition(newline[-1])
            skipped += bool(mark)
        if text:
            yield text


def _place_of_line(file: BinaryIO, start: int, mark: bytes, tick: Tick) -> int:
    """The offset at which a line begins; the end of the file when there is no such line."""
    left, at = start - 1, 0
    for piece in pieces(file, 0, tick):
        here = piece.count(mark)
        if here >= left:
            place = -1
            for _ in range(left):
                place = piece.index(mark, place + 1)
            return at + place + 1
        left, at = left - here, at + len(piece)
    return at


def _lines(texts: Iterator[str], newline: str) -> Iterator[tuple[str, int]]:
    """Each line as far as it is shown, and how many of its characters were dropped."""
    mark, held, left_out, begun = newline[-1], "", 0, False
    for text in texts:
        *ended, rest = text.split(mark)
        for part in ended:
            line, lost = _joined(held, part)
            yield line.removesuffix("\r") if mark == "\n" and not left_out + lost else line, left_out + lost
            held, left_out, begun = "", 0, False
        held, lost = _joined(held, rest)
        left_out, begun = left_out + lost, begun or bool(rest)
    if begun:
        yield held, left_out


def _joined(held: str, part: str) -> tuple[str, int]:
    """Keep at most what is shown of a line, plus one character that marks it as longer."""
    room = MAX_LINE_CHARS + 1 - len(held)
    return held + part[:room], max(len(part) - room, 0)
