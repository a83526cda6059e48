"""A shell command that shows a file counts as a reading of it: Bash, Read, Edit and Write agree on what was seen."""

import pytest

from pegboard.settings import Layer

TEXT = "one\ntwo\n\nfour\nfive\n"


@pytest.fixture
def file(ctx):
    path = ctx.cwd / "a.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def strict(board):
    board.settings.layers.insert(0, Layer("cli", "test", {"edit.knowledge": "strict"}))


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt",
        "cat -n ./a.txt",
        "nl -ba a.txt",
        "head -n 50 a.txt",
        "tail -n +1 a.txt",
        "sed -n '1,$p' a.txt",
        "cat 'a.txt' 2>/dev/null",
    ],
)
def test_a_command_that_shows_all_of_a_file_entitles_to_overwrite_it(approve, call_tool, ctx, file, command):
    call_tool("Bash", command=command)
    assert ctx.files.known(file).complete
    assert not call_tool("Write", file_path="a.txt", content="new\n").is_error


@pytest.mark.parametrize(
    ("command", "ranges"),
    [
        ("head -n 2 a.txt", ((1, 2),)),
        ("tail -n 2 a.txt", ((4, 5),)),
        ("sed -n '2,4p' a.txt", ((2, 4),)),
        ("sed -n 2p a.txt", ((2, 2),)),
        ("grep -n five a.txt", ((5, 5),)),
        ("grep -e two -e five a.txt", ((2, 2), (5, 5))),
    ],
)
def test_a_command_that_shows_some_lines_entitles_to_edit_but_not_to_overwrite(
    approve, call_tool, ctx, file, strict, command, ranges
):
    call_tool("Bash", command=command)
    known = ctx.files.known(file)
    assert (known.complete, known.ranges, known.source) == (False, ranges, "view")
    refused = call_tool("Write", file_path="a.txt", content="new\n")
    assert "has been read only in part" in refused.text
    lines = TEXT.split("\n")
    for number, line in enumerate(lines[:-1], 1):
        is_shown = any(first <= number <= last for first, last in ranges)
        if line:
            result = call_tool("Edit", file_path="a.txt", old_string=line, new_string=f"{line}!", replace_all=False)
            assert result.is_error != is_shown, line
            file.write_text(TEXT)
            call_tool("Bash", command=command)


@pytest.mark.parametrize("command", ["grep -c . a.txt", "grep -l one a.txt", "sed -n '$=' a.txt", "wc -l a.txt"])
def test_a_command_that_shows_no_line_of_the_file_is_no_view(approve, call_tool, ctx, file, command):
    call_tool("Bash", command=command)
    assert ctx.files.known(file) is None


@pytest.mark.parametrize("hiding", ["important\rx\n", "word\b\b\b\bx\n", "\x1b]0;hidden\x07x\n"])
def test_text_that_a_terminal_would_hide_was_not_seen(approve, call_tool, ctx, file, hiding):
    file.write_text(hiding)
    call_tool("Bash", command="cat a.txt")
    assert "has not been read" in call_tool("Write", file_path="a.txt", content="new\n").text


def test_views_and_reads_of_parts_add_up(approve, call_tool, ctx, file):
    call_tool("Bash", command="head -n 4 a.txt")
    call_tool("Read", file_path="a.txt", offset=5)
    assert ctx.files.known(file).complete


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt | head -n 1",
        "cat a.txt > /dev/null",
        "cat a.txt b.txt",
        "wc -l a.txt",
        "grep nothing a.txt",
        "cat a.txt; true",
    ],
)
def test_anything_less_plain_is_no_view(approve, call_tool, ctx, file, command):
    (ctx.cwd / "b.txt").write_text("b\n")
    call_tool("Bash", command=command)
    known = ctx.files.known(file)
    assert known is None or not known.complete


@pytest.mark.parametrize("command", ["cat -s a.txt", "cat -A a.txt", "sed -n '2,3p' a.txt"])
def test_what_does_not_show_the_bytes_is_no_complete_view(approve, call_tool, ctx, file, command):
    file.write_text("one\n\n\n\ntwo\t\n")
    call_tool("Bash", command=command)
    known = ctx.files.known(file)
    assert known is None or not known.complete


def test_output_that_was_cut_is_no_view(approve, call_tool, ctx, file):
    file.write_text("0123456789\n" * 10_000)
    call_tool("Bash", command="cat a.txt")
    assert ctx.files.known(file) is None


def test_a_view_remembers_how_the_file_is_written(approve, call_tool, ctx, file):
    file.write_bytes("\ufeffeins\r\nzwei\r\n".encode())
    call_tool("Bash", command="cat a.txt")
    call_tool("Write", file_path="a.txt", content="drei\n")
    assert file.read_bytes() == "\ufeffdrei\r\n".encode()


def test_a_change_after_the_view_is_noticed(approve, call_tool, ctx, file, strict):
    call_tool("Bash", command="cat a.txt")
    file.write_text("other\n")
    assert "has changed since it was read" in call_tool("Write", file_path="a.txt", content="new\n").text
