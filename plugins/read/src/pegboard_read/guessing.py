"""Guess the encoding of a text that is not UTF-8, and only when the guess is worth something."""

from __future__ import annotations

SAMPLE = 1_000_000
FEWEST_BYTES = 8
"""Below this many bytes that are not ASCII every guess is luck."""
MOST_MESS = 0.1
"""A confidence of 0.9, as the detector counts."""
LEAST_LANGUAGE = 0.3
"""One-byte encodings all decode: only words of a language tell them apart."""
WESTERN = "cp1252"
"""The most common of its kind; it is preferred to rarer relatives that fit no better."""
AS_GOOD = 0.05


def guess(data: bytes) -> str | None:
    """The encoding, or None when it is not sure enough."""
    sample = data[:SAMPLE]
    if len(sample) - len(sample.decode("ascii", "ignore")) < FEWEST_BYTES:
        return None
    # Loaded on use: 30 ms that only a file in an old encoding needs.
    from charset_normalizer import from_bytes

    found = from_bytes(sample, threshold=2 * MOST_MESS)
    best = found.best()
    if best is None or best.chaos > MOST_MESS:
        return None
    if best.multi_byte_usage > 0:
        return best.encoding
    if best.coherence < LEAST_LANGUAGE:
        return None
    for match in found:
        names = (match.encoding, *match.could_be_from_charset)
        if WESTERN in names and match.chaos <= MOST_MESS and match.coherence >= best.coherence - AS_GOOD:
            return WESTERN
    return best.encoding
