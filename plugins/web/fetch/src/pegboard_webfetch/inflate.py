"""Decode a content encoding piece by piece, so that no input can use more memory than the limit."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

PIECE = 1 << 18
"""The most that one step may decompress."""


class BadEncodingError(Exception):
    """The body is not what its Content-Encoding says, or says something that is not supported."""


Unpack = Callable[[bytes], Iterator[bytes]]


def supported() -> str:
    """What to send as Accept-Encoding."""
    return "gzip, deflate, br, zstd"


def unpacker(encoding: str) -> Unpack:
    """A function that decompresses chunk by chunk. Stacked encodings are refused: they only serve to hide a bomb."""
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return _plain
    if len(names) > 1:
        raise BadEncodingError(f"The body has more than one content encoding ({encoding}), which is not supported.")
    make = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _brotli, "zstd": _zstd}.get(names[0])
    if make is None:
        raise BadEncodingError(f"The body has the encoding {names[0]!r}, which is not supported.")
    return make()


def _plain(chunk: bytes) -> Iterator[bytes]:
    yield chunk


def _gzip() -> Unpack:
    return _zlib(zlib.decompressobj(zlib.MAX_WBITS | 16))


def _deflate() -> Unpack:
    """Some servers send raw deflate, others the zlib format; the first two bytes distinguish them."""
    state: list[Unpack] = []
    held = bytearray()

    def unpack(chunk: bytes) -> Iterator[bytes]:
        if not state:
            held.extend(chunk)
            if len(held) < 2:
                return
            is_zlib = held[0] & 0x0F == 8 and int.from_bytes(held[:2], "big") % 31 == 0
            state.append(_zlib(zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)))
            chunk = bytes(held)
        yield from state[0](chunk)

    return unpack


def _zlib(decoder: Any) -> Unpack:
    def unpack(chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk and not decoder.eof:
                yield decoder.decompress(chunk, PIECE)
                chunk = decoder.unconsumed_tail
        except zlib.error as error:
            raise BadEncodingError(f"The compressed body is damaged ({error}).") from None

    return unpack


def _brotli() -> Unpack:
    import brotli  # type: ignore[import-untyped] # Few servers send it unasked; 2 ms for those that do.

    decoder = brotli.Decompressor()

    def unpack(chunk: bytes) -> Iterator[bytes]:
        try:
            # An empty answer is the only sign that nothing is left: the decoder takes input with output still pending.
            while piece := decoder.process(chunk, output_buffer_limit=PIECE):
                yield piece
                chunk = b""
                if decoder.is_finished():
                    return
        except brotli.error as error:
            raise BadEncodingError(f"The compressed body is damaged ({error}).") from None

    return unpack


def _zstd() -> Unpack:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError  # Late like brotli above.
    else:
        from backports.zstd import ZstdDecompressor, ZstdError  # Late like brotli above.

    decoder = ZstdDecompressor()

    def unpack(chunk: bytes) -> Iterator[bytes]:
        try:
            while not decoder.eof:
                yield decoder.decompress(chunk, PIECE)
                chunk = b""
                if decoder.needs_input:
                    return
        except (ZstdError, EOFError) as error:
            raise BadEncodingError(f"The compressed body is damaged ({error}).") from None

    return unpack
