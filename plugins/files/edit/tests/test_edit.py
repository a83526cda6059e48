"""Edit, through the door the model uses."""

import os
import stat
from pathlib import Path

import pytest

from pegboard.settings import Layer


@pytest.fixture
def edit(approve, call_tool):
    return lambda path, old=None, new=None, **more: call_tool(
        "Edit", file_path=path, **{k: v for k, v in (("old_string", old), ("new_string", new)) if v is not None}, **more
    )


@pytest.fixture
def read(call_tool):
    return lambda path, **given: call_tool("Read", file_path=path, **given)


@pytest.fixture
def file(ctx):
    def make(data, name="a.py"):
        path = ctx.cwd / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return make


def set_to(board, **values):
    board.settings.layers.insert(0, Layer("cli", "test", {key.replace("_", "."): v for key, v in values.items()}))


def test_edit_replaces_text_and_shows_the_lines_around_it(edit, read, file):
    path = file("one\ntwo\nthree\n")
    read("a.py")
    result = edit("a.py", "two", "zwei")
    assert result.text == f"Edited {path}: 1 replacement, +1 -1 lines.\n1\tone\n2\tzwei\n3\tthree"
    assert path.read_text() == "one\nzwei\nthree\n"
    value = result.value
    assert (value.replacements, value.match_strategy, value.encoding, value.newline) == (1, "exact", "utf-8", "\n")
    assert value.diff == f"--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three"


def test_edit_speaks_the_documented_names(edit, file):
    file("one\n")
    data = edit("a.py", "one", "two").value.model_dump(by_alias=True)
    assert {"filePath", "oldString", "newString", "structuredPatch", "userModified", "replaceAll"} <= set(data)
    assert data["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-one", "+two"]}
    ]


def test_edit_takes_text_literally(edit, file):
    path = file("a.b(c)$1 \\1\n")
    edit("a.py", "a.b(c)$1", r"\1 $& \g<0> $1")
    assert path.read_text() == "\\1 $& \\g<0> $1 \\1\n"


def test_edit_replaces_all_in_one_pass_without_looking_at_what_it_wrote(edit, read, file):
    path = file("aaaa b a\n")
    read("a.py")
    result = edit("a.py", "aa", "aaa", replace_all=True)
    assert (path.read_text(), result.value.replacements) == ("aaaaaa b a\n", 2)


def test_edit_refuses_several_matches_and_names_the_lines(edit, file):
    path = file("x\ny\nx\n")
    result = edit("a.py", "x", "z")
    expected = (
        f"That text is in {path} 2 times, at lines 1, 3. Include more of the surrounding text, or set replace_all."
    )
    assert (result.code, result.text, path.read_text()) == ("ambiguous", expected, "x\ny\nx\n")


def test_edit_counts_overlapping_matches_as_several(edit, file):
    path = file("aaa\n")
    assert (edit("a.py", "aa", "b").code, path.read_text()) == ("ambiguous", "aaa\n")


def test_edit_helps_with_the_nearest_match(edit, file):
    path = file("import os\n\ndef total(prices):\n    return sum(prices)\n")
    result = edit("a.py", "def totals(prices):\n    return sum(prices)", "x")
    assert result.code == "no_match"
    assert result.text == (
        f"That text is not in {path}. It must match exactly, spaces included. The nearest match is at line 3:\n"
        "  file:  def total(prices):\n"
        "  yours: def totals(prices):\n"
        "  both:      return sum(prices)\n"
        "Read lines 2 to 5 and copy from there."
    )


@pytest.mark.parametrize(
    ("text", "old", "words"),
    [
        ("a = 1\nb = 2\n", "1\ta = 1\n2\tb = 2", "the number and tab before each line come from Read"),
        ("\tif x:\n\t\ty()\n", "    if x:\n        y()", "whitespace (the file has tabs where you have spaces)"),
        ("a = 1\nb = 2\n", "a = 1\\nb = 2", "It contains escapes such as \\n"),
        ("Hello World\n", "hello world", "only in upper and lower case"),
        ("a = 1\n", "something else entirely, quite long", "Nothing in the file is similar"),
    ],
)
def test_edit_hints_at_what_went_wrong(edit, file, text, old, words):
    file(text)
    result = edit("a.py", old, "x")
    assert (result.code, words in result.text) == ("no_match", True), result.text


def test_edit_refuses_equal_strings_and_an_empty_old_string(edit, file):
    file("x\n")
    assert "old_string and new_string are identical" in edit("a.py", "x", "x").text
    assert "old_string is empty, but" in edit("a.py", "", "x").text


def test_edit_with_an_empty_old_string_creates_a_file(edit, ctx):
    result = edit("deep/new.py", "", "x = 1\n")
    assert (ctx.cwd / "deep/new.py").read_text() == "x = 1\n"
    assert result.text == f"Created {ctx.cwd}/deep/new.py (1 line)."


def test_edit_says_what_is_missing_from_its_input(edit, file):
    file("x\n")
    assert "new_string is missing" in edit("a.py", "x").text
    assert "not both" in edit("a.py", "x", "y", edits=[{"old_string": "x", "new_string": "y"}]).text
    assert "edits is empty" in edit("a.py", edits=[]).text
    assert edit("b.py", "x", "y").code == "not_found"


def test_several_edits_see_each_other_and_are_written_once(edit, file, ctx):
    path = file("one\ntwo\n")
    written = []
    ctx.files.listen(lambda event: written.append(event.kind))
    edits = [{"old_string": "one", "new_string": "uno"}, {"old_string": "uno\ntwo", "new_string": "uno\ndos"}]
    result = edit("a.py", edits=edits)
    assert (path.read_text(), result.value.replacements, written) == ("uno\ndos\n", 2, ["written"])


def test_several_edits_are_all_or_nothing_and_the_failing_one_is_named(edit, file):
    path = file("one\ntwo\n")
    edits = [{"old_string": "one", "new_string": "uno"}, {"old_string": "three", "new_string": "tres"}]
    result = edit("a.py", edits=edits)
    assert result.text.startswith("edits[1]: That text is not in")
    assert path.read_text() == "one\ntwo\n"


def test_edit_of_an_unread_file_needs_a_single_exact_match(edit, file):
    path = file("x\nx\ny\n")
    result = edit("a.py", "x", "z", replace_all=True)
    assert (result.code, path.read_text()) == ("stale", "x\nx\ny\n")
    assert "has not been read in full in this conversation, and the text is in it 2 times" in result.text
    assert not edit("a.py", "y", "z").is_error


def test_strict_knowledge_wants_the_whole_file_read(edit, read, file, board):
    path = file("1\n2\n3\n")
    set_to(board, edit_knowledge="strict")
    assert edit("a.py", "2", "x").text == f"{path} has not been read in this conversation. Read it first."
    read("a.py", limit=2)
    assert edit("a.py", "2", "x").text == f"{path} has been read only in part. Read the rest of it first."
    read("a.py", offset=3)
    assert not edit("a.py", "2", "x").is_error
    assert not edit("a.py", "x", "y").is_error  # What it wrote itself it need not read.


def test_editing_an_unread_file_does_not_entitle_to_overwrite_it(edit, file, call_tool):
    file("1\n2\n")
    assert not edit("a.py", "2", "x").is_error
    assert call_tool("Write", file_path="a.py", content="gone").code == "stale"


def test_edit_of_a_changed_file_applies_a_single_match_and_says_so(edit, read, file):
    path = file("one\ntwo\n")
    read("a.py")
    path.write_text("zero\none\ntwo\n")
    result = edit("a.py", "two", "zwei")
    assert path.read_text() == "zero\none\nzwei\n"
    assert "The file has changed since you read it; this edit was applied on top of those changes." in result.text


@pytest.mark.parametrize("now", ["one\n", "two\ntwo\n"])
def test_edit_of_a_changed_file_is_stale_when_the_place_is_not_clear(edit, read, file, now):
    path = file("one\ntwo\n")
    read("a.py")
    path.write_text(now)
    result = edit("a.py", "two", "zwei")
    assert (result.code, path.read_text()) == ("stale", now)
    assert "has changed since it was read" in result.text


def test_a_touched_file_is_not_stale(edit, read, file):
    path = file("one\r\none\r\n")
    read("a.py")
    os.utime(path, (1, 1))
    result = edit("a.py", "one", "two", replace_all=True)
    assert (path.read_bytes(), result.value.notes) == (b"two\r\ntwo\r\n", [])


def test_edit_leaves_mixed_line_ends_the_mark_and_the_missing_newline_alone(edit, read, file):
    path = file(b"\xef\xbb\xbfone\r\ntwo\nthree\r\nfour")
    read("a.py")
    edit("a.py", "one\ntwo\nthree\n", "one\nTWO\nthree\n")
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\nthree\r\nfour"
    edit("a.py", "three\n", "three\nthree and a half\n")
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\nthree\r\nthree and a half\r\nfour"


def test_edit_matches_text_sent_with_carriage_returns(edit, file):
    path = file(b"one\r\ntwo\r\n")
    result = edit("a.py", "one\r\ntwo", "one\r\n2")
    assert (path.read_bytes(), result.value.match_strategy) == (b"one\r\n2\r\n", "newline")


def test_edit_names_a_character_that_does_not_fit_and_touches_nothing(edit, read, file):
    path = file(b"caf\xe9\nend\n")
    os.utime(path, (1, 1))
    assert "is not UTF-8 and its encoding is not declared. Read it first" in edit("a.py", "end", "x").text
    read("a.py", encoding="latin-1")
    result = edit("a.py", "end", "price \u20ac")
    assert "is latin-1 text, which cannot represent '€' (U+20AC, line 2 of the result)." in result.text
    assert (path.read_bytes(), path.stat().st_mtime) == (b"caf\xe9\nend\n", 1)
    assert not edit("a.py", "end", "thé").is_error
    assert path.read_bytes() == b"caf\xe9\nth\xe9\n"


@pytest.mark.parametrize(
    ("level", "text", "old", "new", "after"),
    [
        ("trailing-whitespace", "a  \nb\t\nc\n", "a\nb\n", "A\nB\n", "A\nB\nc\n"),
        ("indentation", "  if x:\n    y()\nz\n", "if x:\n  y()\n", "if x:\n  yy()\n\n", "  if x:\n    yy()\n\nz\n"),
        ("unicode", "say “hi” — now\n", 'say "hi" - now', "bye", "bye\n"),
        ("escapes", 'a\t"b"\n', 'a\\t\\"b\\"', 'c\\t\\"d\\"', 'c\t"d"\n'),
    ],
)
def test_tolerant_levels_work_only_where_a_setting_allows_them_and_are_reported(
    edit, read, file, board, level, text, old, new, after
):
    path = file(text)
    read("a.py")
    assert edit("a.py", old, new).code == "no_match"
    set_to(board, edit_tolerance=[level])
    result = edit("a.py", old, new)
    assert (path.read_text(), result.value.match_strategy) == (after, level)
    assert f"(There was no exact match; a tolerant match was used: {level}.)" in result.text


def test_a_tolerant_level_wants_exactly_one_candidate_and_a_file_that_was_read(edit, read, file, board):
    path = file("a \nb\na\t\n")
    set_to(board, edit_tolerance=["trailing-whitespace"])
    read("a.py")
    assert edit("a.py", "a\n", "x\n").code == "ambiguous"
    path.write_text("a \nb\n")
    assert edit("a.py", "a\nb", "x").code == "stale"


def test_an_empty_tolerance_allows_exact_matches_only(edit, file, board):
    file(b"one\r\ntwo\r\n")
    set_to(board, edit_tolerance=[])
    assert edit("a.py", "one\r\ntwo", "x").code == "no_match"
    set_to(board, edit_tolerance=["fuzzy"])
    assert "The setting edit.tolerance has no level 'fuzzy'." in edit("a.py", "one", "x").text


def test_edit_warns_about_text_that_stands_for_left_out_text(edit, file):
    file("a\nb\n")
    result = edit("a.py", "a", "# ... existing code ...")
    assert "(Warning: '# ... existing code ...' looks like a placeholder for omitted text" in result.text


def test_edit_keeps_mode_and_follows_links(edit, file, ctx):
    path = file("x\n", "run.sh")
    path.chmod(0o750)
    (ctx.cwd / "link").symlink_to("run.sh")
    edit("link", "x", "y")
    assert ((ctx.cwd / "link").is_symlink(), path.read_text()) == (True, "y\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_edit_writes_a_hard_linked_file_in_place_and_says_so(edit, file, ctx):
    path = file("x\n")
    os.link(path, ctx.cwd / "other")
    assert "(It has 2 hard links, so it was written in place and not replaced.)" in edit("a.py", "x", "y").text
    assert (ctx.cwd / "other").read_text() == "y\n"


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("a.ipynb", lambda p: p.write_text("{}"), "is a notebook. Use NotebookEdit"),
        ("a.bin", lambda p: p.write_bytes(b"\0\1"), "is a binary file. It cannot be changed as text."),
        ("folder", lambda p: p.mkdir(), "is a directory."),
        ("pipe", lambda p: os.mkfifo(p), "is not a regular file"),
        ("stateful", lambda p: p.write_bytes("日本x".encode("utf-7")), None),
    ],
)
def test_edit_refuses_what_it_cannot_change(edit, ctx, name, make, words):
    make(ctx.cwd / name)
    result = edit(name, "x", "y")
    if words:
        assert (result.code, words in result.text) == ("unsupported", True)
    else:
        assert not result.is_error  # UTF-7 is ASCII to everybody who was not told otherwise.


def test_edit_shows_a_diff_or_its_failure_before_it_asks(board, ctx, file):
    path = file("one\ntwo\n")
    tool = board.find("Edit").tool
    args = tool.input(file_path=path, old_string="two", new_string="2")
    assert tool.preview(args, ctx).splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    assert tool.describe(args) == f"Edit {path}: replace 1 line of text"
    wrong = tool.input(file_path=path, old_string="three", new_string="2")
    assert tool.preview(wrong, ctx).startswith("This call would fail: That text is not in")
    assert path.read_text() == "one\ntwo\n"
    assert "Edit" in str(tool.render_use(args))


def test_edit_says_what_it_reads_and_writes(board, ctx):
    tool = board.find("Edit").tool
    facts = tool.facts(tool.input(file_path=Path("a.py"), old_string="x", new_string="y"), ctx)
    assert (facts.reads, facts.writes) == ((ctx.cwd / "a.py",), (ctx.cwd / "a.py",))
    assert (facts.read_only, facts.concurrency_safe, facts.open_world) == (False, False, False)


def test_edit_asks_first(call_tool, file):
    path = file("x\n")
    assert call_tool("Edit", file_path="a.py", old_string="x", new_string="y").code == "permission_denied"
    assert path.read_text() == "x\n"


def test_edit_says_that_a_file_was_read_only(edit, read, file):
    path = file("old\n")
    path.chmod(0o444)
    read("a.py")
    result = edit("a.py", "old", "new")
    assert result.value.notes == ["The file is marked read-only and was changed anyway."]
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\n", 0o444)
