"""Number lines, fast: the prefixes are made once and interleaved with the lines by slicing."""

from __future__ import annotations

_prefixes = [f"\n{number}\t" for number in range(2001)]
"""The prefix of each line. It is only ever replaced as a whole, so threads may share it."""


def numbered(lines: list[str], start: int) -> str:
    """The lines with the number and a tab before each."""
    count = len(lines)
    parts = [""] * (2 * count)
    parts[::2] = _table(start, start + count)
    parts[1::2] = lines
    return "".join(parts)[1:]


def _table(first: int, end: int) -> list[str]:
    global _prefixes
    if end <= len(_prefixes):
        return _prefixes[first:end]
    if end > 100_000:  # Deep in a large file: not worth caching.
        return [f"\n{number}\t" for number in range(first, end)]
    _prefixes = _prefixes + [f"\n{number}\t" for number in range(len(_prefixes), end)]
    return _prefixes[first:end]
