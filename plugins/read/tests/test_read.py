"""Read, through the door the model uses."""

import os

import pytest


@pytest.fixture
def folder(ctx):
    return ctx.cwd


def test_read_numbers_lines_from_one(call_tool, folder):
    (folder / "a.txt").write_text("one\ntwo\n")
    assert call_tool("Read", file_path="a.txt").text == "1\tone\n2\ttwo"


def test_read_numbers_lines_from_the_offset_and_says_how_to_go_on(call_tool, folder):
    (folder / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 11)))
    result = call_tool("Read", file_path="a.txt", offset=4, limit=2)
    assert result.text == "4\tline 4\n5\tline 5\n(PARTIAL: lines 4 to 5 of 10; go on with offset=6.)"
    assert result.value.total_lines == 10


def test_read_tells_an_empty_file_from_an_offset_past_the_end(call_tool, folder):
    (folder / "empty").touch()
    (folder / "short").write_text("one\n")
    assert call_tool("Read", file_path="empty").text == f"{folder}/empty exists but is empty."
    assert call_tool("Read", file_path="short", offset=9).text == f"{folder}/short has 1 lines; there is no line 9."


def test_read_hides_a_bom_and_carriage_returns(call_tool, folder):
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert call_tool("Read", file_path="a.txt").text == "1\tone\n2\ttwo"


def test_read_cuts_very_long_lines_visibly(call_tool, folder):
    (folder / "a.txt").write_text("x" * 5000)
    assert call_tool("Read", file_path="a.txt").text == f"1\t{'x' * 2000}… (cut)"


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda p: None, "not_found", "There is no file"),
        (lambda p: p.mkdir(), "unsupported", "is a directory. Use Glob to list it."),
        (lambda p: os.mkfifo(p), "unsupported", "is not a regular file."),
        (lambda p: p.symlink_to("/dev/zero"), "unsupported", "is not a regular file."),
        (lambda p: p.symlink_to(p), "invalid_input", "cannot be opened: Too many levels of symbolic links."),
        (lambda p: p.write_bytes(b"\x7fELF\0\0"), "unsupported", "is a binary file"),
        (lambda p: p.write_bytes(b"caf\xe9\n"), "unsupported", "is not UTF-8 text (line 1)."),
    ],
)
def test_read_refuses_what_it_cannot_show(approve, call_tool, folder, make, code, words):
    make(folder / "thing")
    result = call_tool("Read", file_path="thing")
    assert (result.is_error, result.code) == (True, code)
    assert words in result.text


def test_read_needs_no_permission_at_home(call_tool, folder):
    (folder / "a.txt").write_text("x")
    assert call_tool("Read", file_path="a.txt").decision.layer == "read-only"
