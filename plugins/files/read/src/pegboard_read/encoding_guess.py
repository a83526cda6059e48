"""Guess the encoding of text that is not UTF-8, but only when the guess is reliable."""

from __future__ import annotations

SAMPLE = 1_000_000
FEWEST_BYTES = 8
"""With fewer non-ASCII bytes than this, a guess is unreliable."""
MOST_MESS = 0.1
"""A confidence of 0.9 on the detector's scale."""
LEAST_LANGUAGE = 0.3
"""Single-byte encodings decode any bytes; only the words of a language tell them apart."""
WESTERN = "cp1252"
"""The most common single-byte encoding; it is preferred to rarer ones that fit no better."""
AS_GOOD = 0.05


def guess(data: bytes) -> str | None:
    """The encoding, or None when no guess is reliable enough."""
    sample = data[:SAMPLE]
    if len(sample) - len(sample.decode("ascii", "ignore")) < FEWEST_BYTES:
        return None
    # Imported late: it takes 30 ms, and only a file in a legacy encoding needs it.
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
