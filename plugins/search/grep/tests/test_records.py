"""The stream of an engine, cut at every place, with limits that are reached."""

from __future__ import annotations

import pytest

from pegboard_grep import records
from pegboard_grep.records import CountRecords, FileRecords, LineRecords, cut

STREAM = (
    b"./a.py\x001:3:hello\n./a.py\x002-beside\n--\n./b\nc.py\x007:1:x:y-z\n"
    b'./bin: binary file matches (found "\\0" byte around offset 1)\n./z.py\x0012:1:\n'
)


def everyone(path: bytes) -> bool:
    return True


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_lines_are_the_same_however_the_stream_is_cut(size: int) -> None:
    taken = LineRecords(everyone)
    for at in range(0, len(STREAM), size):
        taken.feed(STREAM[at : at + size])
    assert {path: [tuple(row) for row in rows] for path, rows in taken.rows.items()} == {
        b"./a.py": [(1, True, b"hello"), (2, False, b"beside")],
        b"./b\nc.py": [(7, True, b"x:y-z")],
        b"./z.py": [(12, True, b"")],
    }
    assert (taken.binary, taken.total_rows, sum(taken.files.values())) == (1, 4, 3)


def test_names_and_counts_are_read_in_pieces() -> None:
    files, counts = FileRecords(everyone), CountRecords(everyone)
    for byte in b"./a\0./b\nc\0":
        files.feed(bytes([byte]))
    for byte in b"./a\x0012\n./b\nc\x003\r\n":
        counts.feed(bytes([byte]))
    assert list(files.files) == [b"./a", b"./b\nc"]
    assert counts.files == {b"./a": 12, b"./b\nc": 3}


def test_a_file_that_is_not_accepted_is_asked_about_once_and_left_out() -> None:
    asked: list[bytes] = []
    taken = LineRecords(lambda path: asked.append(path) is not None)
    taken.feed(b"./a\x001:1:x\n./a\x002:1:y\n")
    assert (asked, taken.files, taken.total_rows) == ([b"./a"], {}, 0)


def test_what_is_kept_does_not_depend_on_the_order_of_arrival() -> None:
    pieces = [b"./f%d\x001:1:%s\n" % (number, b"x" * 300) for number in range(9)]
    kept = set()
    for order in (pieces, pieces[::-1], pieces[4:] + pieces[:4]):
        taken = LineRecords(everyone, most_bytes=1700)
        for piece in order:
            taken.feed(piece)
        assert (taken.total_rows, taken.dropped) == (9, True)
        kept.add(tuple(sorted(taken.rows)))
    assert kept == {(b"./f0", b"./f1", b"./f2", b"./f3")}


def test_a_line_without_end_is_cut_and_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_PENDING", 10_000)
    taken = LineRecords(everyone)
    taken.feed(b"./a\x001:5:" + b"x" * 9_000)
    for _ in range(50):
        taken.feed(b"y" * 9_000)
    taken.feed(b"the end\n./b\x002:1:short\n")
    assert [row.line for row in taken.rows[b"./a"]] == [1]
    assert len(taken.rows[b"./a"][0].text) < 700
    assert taken.rows[b"./b"][0].text == b"short"


def test_a_cut_never_splits_a_character() -> None:
    text = ("é" * 2000).encode()
    for at in (0, 1, 777, 1999, 3999):
        assert "\ufffd" not in cut(text, at).decode(errors="replace")
