"""The decoder of server-sent events, over every way in which bytes can be cut."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard_http import EventDecoder


def decoded(*chunks: bytes) -> list[tuple[str, bytes]]:
    decoder = EventDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    texts=st.lists(st.text(), max_size=4),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    data=st.data(),
)
def test_events_survive_any_cut_and_any_newline(texts: list[str], newline: str, data: st.DataObject) -> None:
    payloads = [json.dumps({"text": text}, ensure_ascii=True) for text in texts]
    wire = "".join(f"event: e{i}{newline}data: {p}{newline}{newline}" for i, p in enumerate(payloads)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    chunks = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert decoded(*chunks) == [(f"e{i}", payload.encode()) for i, payload in enumerate(payloads)]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_events_survive_arriving_byte_by_byte(newline: bytes) -> None:
    wire = newline.join([b"event: e", b"data: 1", b"data: 2", b"", b"data: 3", b"", b""])
    assert decoded(*(bytes([byte]) for byte in wire)) == [("e", b"1\n2"), ("", b"3")]


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        (b": a comment\n\n", []),
        (b"event: lonely\n\ndata: 1\n\n", [("", b"1")]),
        (b"data:1\ndata: 2\n\n", [("", b"1\n2")]),
        (b"id: 7\nretry: 10\nevent: e\ndata: {}\n\n", [("e", b"{}")]),
        (b"data: never finished\n", []),
        ("data: a\u2028b\x85c\n\n".encode(), [("", "a\u2028b\x85c".encode())]),
    ],
)
def test_fields_are_read_as_the_standard_says(wire: bytes, events: list[tuple[str, bytes]]) -> None:
    assert decoded(wire) == events


def test_one_long_line_in_many_chunks_costs_no_more_than_its_length() -> None:
    def seconds(chunks: int) -> float:
        decoder, began = EventDecoder(), time.process_time()
        assert list(decoder.feed(b"data: ")) == []
        for _ in range(chunks):
            assert list(decoder.feed(b"x" * 1000)) == []
        [(_, data)] = decoder.feed(b"\n\n")
        assert len(data) == chunks * 1000
        return time.process_time() - began

    assert seconds(16_000) < 40 * max(seconds(1_000), 0.002)  # 16 times the length; quadratic would be 256.
