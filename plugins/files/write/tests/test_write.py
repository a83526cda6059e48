"""Write, through the door the model uses."""

import os
import stat

import pytest

from pegboard.settings import Layer

PS1 = "\ufeffx\r\n".encode("utf-16-le")


@pytest.fixture
def write(approve, call_tool):
    return lambda **given: call_tool("Write", **given)


@pytest.fixture
def read(call_tool):
    return lambda path, **given: call_tool("Read", file_path=path, **given)


def set_to(board, **values):
    board.settings.layers.insert(0, Layer("cli", "test", {key.replace("_", "."): v for key, v in values.items()}))


def test_write_creates_a_file_and_its_folders_and_says_so(write, ctx):
    result = write(file_path="a/b/c.txt", content="héllo\n")
    assert result.text == f"Created {ctx.cwd}/a/b/c.txt (7 bytes).\n(Created the folder {ctx.cwd}/a/b.)"
    assert (ctx.cwd / "a/b/c.txt").read_bytes() == "héllo\n".encode()
    assert result.value.made_folders == [f"{ctx.cwd}/a", f"{ctx.cwd}/a/b"]


def test_write_replaces_what_was_read_keeps_the_mode_and_shows_a_diff(write, read, ctx):
    path = ctx.cwd / "run.sh"
    path.write_text("old\n")
    path.chmod(0o751)
    read("run.sh")
    result = write(file_path="run.sh", content="new\n")
    assert (result.value.type, result.value.added, result.value.removed) == ("update", 1, 1)
    assert result.text.startswith(
        f"Replaced {path} (4 bytes, +1 -1 lines).\n--- {path}\n+++ {path}\n@@ -1,1 +1,1 @@\n-old\n+new"
    )
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\n", 0o751)
    assert os.listdir(ctx.cwd) == ["run.sh"]


def test_write_refuses_a_file_that_was_not_read(write, ctx):
    (ctx.cwd / "a.txt").write_text("precious\n")
    result = write(file_path="a.txt", content="x")
    reason = f"{ctx.cwd}/a.txt exists and has not been read in this conversation."
    assert (result.code, result.text) == ("stale", f"{reason} Read it first, or use Edit to change part of it.")
    assert (ctx.cwd / "a.txt").read_text() == "precious\n"


def test_write_refuses_a_file_that_was_read_in_part(write, read, ctx):
    (ctx.cwd / "a.txt").write_text("1\n2\n3\n")
    read("a.txt", limit=2)
    assert "has been read only in part" in write(file_path="a.txt", content="x").text
    read("a.txt", offset=3)
    assert write(file_path="a.txt", content="x").value.type == "update"  # Both parts together are the whole.


def test_write_refuses_a_file_with_a_cut_line(write, read, ctx):
    (ctx.cwd / "a.txt").write_text("x" * 5000)
    read("a.txt")
    assert "has been read only in part" in write(file_path="a.txt", content="x").text


def test_write_refuses_a_file_that_changed_since_and_takes_one_that_was_only_touched(write, read, ctx):
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    read("a.txt")
    path.write_text("two\n")
    assert (write(file_path="a.txt", content="x").code, path.read_text()) == ("stale", "two\n")
    path.write_text("one\n")
    os.utime(path, (1, 1))
    assert write(file_path="a.txt", content="three\n").value.type == "update"


def test_write_twice_in_a_row_needs_no_second_read(write):
    assert write(file_path="a.txt", content="one\n").value.type == "create"
    assert write(file_path="a.txt", content="two\n").value.type == "update"


def test_write_fills_an_empty_file_without_reading_it(write, ctx):
    (ctx.cwd / "a.txt").touch()
    assert write(file_path="a.txt", content="x\n").value.type == "update"


def test_write_of_the_same_content_touches_nothing(write, ctx):
    path = ctx.cwd / "a.txt"
    path.write_text("same")
    os.utime(path, (1, 1))
    assert write(file_path="a.txt", content="same").value.type == "unchanged"
    assert path.stat().st_mtime == 1


def test_write_follows_a_link_to_its_file(write, read, ctx):
    (ctx.cwd / "real.txt").write_text("old")
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    read("link.txt")
    write(file_path="link.txt", content="new")
    assert (ctx.cwd / "link.txt").is_symlink()
    assert (ctx.cwd / "real.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "one\nthree\n", b"\xef\xbb\xbfone\r\nthree\r\n"),
        ("one\ntwo\n".encode("utf-16"), "öne\n", "öne\n".encode("utf-16")),
        (b"one\ntwo\n", "one\r\nthree\r\n", b"one\nthree\n"),
        (b"one\rtwo\r", "one\nthree\n", b"one\rthree\r"),
        (b"one", "one\r\ntwo", b"one\r\ntwo"),
    ],
)
def test_write_keeps_encoding_mark_and_line_ends(write, read, ctx, before, content, after):
    path = ctx.cwd / "a.txt"
    path.write_bytes(before)
    read("a.txt")
    assert write(file_path="a.txt", content=content).value.type == "update"
    assert path.read_bytes() == after


def test_write_names_a_character_that_the_encoding_lacks(write, read, ctx):
    path = ctx.cwd / "a.txt"
    path.write_bytes(b"caf\xe9\n")
    read("a.txt", encoding="cp1252")
    result = write(file_path="a.txt", content="caf\u4e2d\n")
    assert (
        "is cp1252 text, which cannot represent '中' (U+4E2D, line 1 of the result). Nothing was changed."
        in result.text
    )
    assert path.read_bytes() == b"caf\xe9\n"
    assert write(file_path="a.txt", content="thé\n").value.type == "update"
    assert path.read_bytes() == b"th\xe9\n"


@pytest.mark.parametrize(
    ("rules", "name", "content", "after"),
    [
        ({".editorconfig": "root = true\n[*.{bat,cmd}]\nend_of_line = crlf\n"}, "a.bat", "x\ny\n", b"x\r\ny\r\n"),
        ({".editorconfig": "[*]\ncharset = utf-8-bom\n"}, "a.cs", "x\n", b"\xef\xbb\xbfx\n"),
        ({".editorconfig": "[lib/**.js]\ncharset = latin1\n"}, "lib/a.js", "é\n", b"\xe9\n"),
        ({".gitattributes": "*.ps1 working-tree-encoding=UTF-16LE-BOM eol=crlf\n"}, "a.ps1", "x\n", PS1),
        ({"b.txt": "1\r\n2\r\n", "c.txt": "3\r\n"}, "a.txt", "x\n", b"x\r\n"),
        ({}, "a.txt", "x\r\ny\n", b"x\r\ny\n"),
    ],
)  # fmt: skip
def test_write_gives_a_new_file_the_style_of_its_project(write, ctx, rules, name, content, after):
    for other, text in rules.items():
        (ctx.cwd / other).write_bytes(text.encode())
    write(file_path=name, content=content)
    assert (ctx.cwd / name).read_bytes() == after


def test_write_neither_adds_nor_strips_a_final_newline_but_mentions_it(write, read, ctx):
    (ctx.cwd / "a.txt").write_text("one\n")
    read("a.txt")
    result = write(file_path="a.txt", content="two")
    assert (ctx.cwd / "a.txt").read_text() == "two"
    assert "(The file ended with a newline and now does not.)" in result.text


def test_write_refuses_to_shrink_a_file_too_much_unless_a_setting_allows_it(write, read, board, ctx):
    (ctx.cwd / "a.py").write_text("x = 1\n" * 100)
    read("a.py")
    result = write(file_path="a.py", content="x = 1\n" * 10)
    assert "content is 90% shorter than" in result.text
    assert (ctx.cwd / "a.py").read_text() == "x = 1\n" * 100
    set_to(board, write_maxShrinkPercent=100)
    assert write(file_path="a.py", content="x = 1\n" * 10).value.type == "update"


def test_write_refuses_lines_that_stand_for_left_out_text(write, read, board, ctx):
    (ctx.cwd / "a.py").write_text("a = 1\nb = 2\n")
    read("a.py")
    result = write(file_path="a.py", content="a = 2\n# ... rest of the code unchanged ...\n")
    assert "content has the line '# ... rest of the code unchanged ...'" in result.text
    assert (ctx.cwd / "a.py").read_text() == "a = 1\nb = 2\n"
    set_to(board, write_placeholders="allow")
    assert not write(file_path="a.py", content="a = 2\n# ... rest of the code unchanged ...\n").is_error


def test_write_refuses_nul_bytes_and_too_much(write, board):
    assert "content has a NUL character at index 1" in write(file_path="a.txt", content="a\0b").text
    set_to(board, write_maxBytes=10)
    assert write(file_path="a.txt", content="x" * 11).code == "too_large"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p.mkdir(), "is a directory. Give the path of a file in it."),
        (lambda p: os.mkfifo(p), "is not a regular file and cannot be changed."),
        (lambda p: p.symlink_to("/dev/null"), "is not a regular file and cannot be changed."),
        (lambda p: p.write_bytes(b"\x7fELF\0\0"), "is a binary file. It cannot be changed as text."),
    ],
)
def test_write_refuses_what_is_not_a_text_file(write, ctx, make, words):
    make(ctx.cwd / "thing")
    result = write(file_path="thing", content="x")
    assert (result.code, words in result.text) == ("unsupported", True)


def test_write_warns_about_a_name_that_differs_in_case_only(write, ctx):
    (ctx.cwd / "Readme.md").write_text("x")
    assert (
        "(Readme.md also exists and differs only in upper and lower case.)"
        in write(file_path="README.md", content="y").text
    )


def test_write_keeps_the_earlier_bytes_for_undo(write, read, ctx):
    (ctx.cwd / "a.txt").write_text("one\n")
    read("a.txt")
    write(file_path="a.txt", content="two\n")
    entry = ctx.files.undo_entries()[-1]
    assert (entry.path, entry.stored.read_text()) == (ctx.cwd / "a.txt", "one\n")


def test_write_shows_a_diff_before_it_asks(board, ctx):
    (ctx.cwd / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    tool = board.find("Write").tool
    args = tool.input(file_path=ctx.cwd / "a.txt", content="one\nthree\n")
    assert tool.preview(args, ctx).splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+three"]
    assert tool.describe(args) == f"Write 10 characters to {ctx.cwd}/a.txt"
    assert "Write 10" in str(tool.render_use(args))
    assert "no" in str(tool.render_error("no"))


def test_write_asks_first(call_tool, ctx):
    result = call_tool("Write", file_path="a.txt", content="x")
    assert result.code == "permission_denied"
    assert not (ctx.cwd / "a.txt").exists()


def test_write_says_that_a_file_was_read_only(write, read, ctx):
    path = ctx.cwd / "a.txt"
    path.write_text("old\n")
    path.chmod(0o444)
    read("a.txt")
    result = write(file_path="a.txt", content="new\n")
    assert result.text.endswith("(The file is marked read-only and was changed anyway.)")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\n", 0o444)
