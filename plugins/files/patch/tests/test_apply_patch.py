"""ApplyPatch, through the door that a model uses: what it does, what it refuses, and that it does all or nothing."""

import os
import stat
from pathlib import Path

import pytest

from pegboard.settings import Layer

APP = "import os\n\n\nclass Shop:\n    def total(self):\n        return 1\n\n    def count(self):\n        return 1\n"


@pytest.fixture
def patch(approve, call_tool):
    return lambda *lines: call_tool("ApplyPatch", input="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


@pytest.fixture
def read(call_tool):
    return lambda path: call_tool("Read", file_path=str(path))


@pytest.fixture
def file(ctx):
    def make(data, name="a.py"):
        path = ctx.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return make


def set_to(board, **values):
    board.settings.layers.insert(0, Layer("cli", "test", {f"patch.{key}": value for key, value in values.items()}))


def test_a_file_is_added_with_its_folders(patch, ctx):
    result = patch("*** Add File: docs/deep/new.md", "+# Title", "+", "+Words.")
    assert result.text == f"Added {ctx.cwd}/docs/deep/new.md (+3 -0 lines)."
    assert (ctx.cwd / "docs/deep/new.md").read_text() == "# Title\n\nWords.\n"


def test_several_files_change_at_once(patch, read, file, ctx):
    app, old, moved = file(APP), file("gone\n", "old.txt"), file("x = 1\ny = 2\n", "m.py")
    read(old)
    result = patch(
        "*** Update File: a.py",
        "@@ def count(self):",
        "-        return 1",
        "+        return 2",
        "*** Add File: new.txt",
        "+new",
        "*** Delete File: old.txt",
        "*** Update File: m.py",
        "*** Move to: lib/n.py",
        "@@",
        " x = 1",
        "-y = 2",
        "+y = 3",
    )
    assert not result.is_error, result.text
    assert app.read_text() == APP.replace("count(self):\n        return 1", "count(self):\n        return 2")
    assert (ctx.cwd / "new.txt").read_text() == "new\n"
    assert not old.exists()
    assert not moved.exists()
    assert (ctx.cwd / "lib/n.py").read_text() == "x = 1\ny = 3\n"
    kinds = [(one.type, one.added, one.removed) for one in result.value.files]
    assert kinds == [("update", 1, 1), ("add", 1, 0), ("delete", 0, 1), ("move", 1, 1)]


def test_headers_narrow_a_change_down_one_after_another(patch, file):
    path = file("class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        pass\n")
    patch("*** Update File: a.py", "@@ class B:", "@@     def f(self):", "-        pass", "+        return 2")
    assert path.read_text().endswith("class B:\n    def f(self):\n        return 2\n")
    assert path.read_text().count("pass") == 1


def test_a_change_in_several_places_is_refused_with_their_lines(patch, file):
    path = file(APP)
    result = patch("*** Update File: a.py", "@@", "-        return 1", "+        return 2")
    assert result.text == (
        f"The change at line 3 of the patch fits {path} in 2 places, at lines 6, 9. "
        "Add the lines around it, or an @@ line that precedes it."
    )
    assert path.read_text() == APP


def test_end_of_file_means_the_last_one(patch, file):
    path = file("a\nb\na\n")
    patch("*** Update File: a.py", "@@", "-a", "+z", "*** End of File")
    assert path.read_text() == "a\nb\nz\n"


def test_lines_without_context_are_appended(patch, file):
    path = file("a\n")
    patch("*** Update File: a.py", "@@", "+b", "+c")
    assert path.read_text() == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\nb", ["-b", "+c"], "a\nc"),
        ("a\nb", [" b", "+c"], "a\nb\nc"),
        ("a\nb", [" a", "-b"], "a"),
        ("a", ["-a"], ""),
        ("a\n", ["-a"], ""),
        ("", ["+a"], "a\n"),
        ("a\r\nb\r\n", [" a", "+x", " b"], "a\r\nx\r\nb\r\n"),
        ("a\r\nb\nc\n", ["-b", "+x"], "a\r\nx\nc\n"),
        ("a\n\nb\n", [" a", "", "-b", "+c"], "a\n\nc\n"),
    ],
)
def test_line_ends_and_a_missing_last_one_stay(patch, file, before, lines, after):
    path = file(before)
    result = patch("*** Update File: a.py", "@@", *lines)
    assert not result.is_error, result.text
    assert path.read_bytes() == after.encode()


def test_lines_that_stay_are_those_of_the_file(patch, read, file):
    path = file("keep   \nx \u2013 y\nold\n")
    read(path)
    result = patch("*** Update File: a.py", "@@", " keep", " x - y", "-old", "+new")
    assert path.read_text() == "keep   \nx \u2013 y\nnew\n"
    assert "a tolerant match was used: unicode" in result.text


def test_an_inexact_match_needs_a_file_that_was_read(patch, file):
    path = file("keep   \nold\n")
    result = patch("*** Update File: a.py", "@@", " keep", "-old", "+new")
    assert "has not been read in full, and the lines of the patch match it only approximately" in result.text
    assert path.read_text() == "keep   \nold\n"


def test_other_indentation_is_accepted_only_where_a_setting_says_so(patch, read, file, board):
    path = file("    keep\n    old\n")
    read(path)
    lines = ("*** Update File: a.py", "@@", " keep", "-old", "+    new")
    assert "does not fit" in patch(*lines).text
    set_to(board, tolerance=["indentation"])
    patch(*lines)
    assert path.read_text() == "    keep\n    new\n"


def test_strict_knowledge_needs_the_whole_file(patch, read, file, board):
    path = file("a\nb\n")
    set_to(board, knowledge="strict")
    assert (
        "has not been read in full in this conversation. Read it first."
        in patch("*** Update File: a.py", "@@", "-a", "+z").text
    )
    read(path)
    assert not patch("*** Update File: a.py", "@@", "-a", "+z").is_error


def test_a_file_that_changed_since_it_was_read_is_patched_with_a_remark(patch, read, file):
    path = file("a\nb\n")
    read(path)
    path.write_text("a\nb\nc\n")
    assert "has changed since you read it" in patch("*** Update File: a.py", "@@", "-a", "+z").text
    assert path.read_text() == "z\nb\nc\n"


def test_only_a_file_that_was_read_can_be_deleted_or_just_moved(patch, read, file):
    path = file("a\n")
    assert (
        "has not been read in this conversation. Read it before you delete it." in patch("*** Delete File: a.py").text
    )
    assert "Read it first." in patch("*** Update File: a.py", "*** Move to: b.py").text
    read(path)
    path.write_text("changed\n")
    assert "Read it again before you delete it." in patch("*** Delete File: a.py").text
    assert path.exists()


def test_a_moved_file_keeps_its_mode_and_what_is_known_about_it(patch, read, file, ctx):
    path = file("#!/bin/sh\necho\n", "run")
    path.chmod(0o750)
    read(path)
    assert not patch("*** Update File: run", "*** Move to: bin/run").is_error
    moved = ctx.cwd / "bin/run"
    assert stat.S_IMODE(moved.stat().st_mode) == 0o750
    assert not patch("*** Delete File: bin/run").is_error, "it still counts as read"


def test_every_change_can_be_taken_back(patch, read, file, ctx):
    old = file("gone\n", "old.txt")
    read(old)
    patch("*** Delete File: old.txt", "*** Add File: new.txt", "+x")
    made, gone = ctx.files.undo_entries()
    assert (gone.path, gone.after, gone.stored.read_bytes()) == (old, "", b"gone\n")
    assert (made.path, made.before) == (ctx.cwd / "new.txt", "")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["*** Add File: a.py", "+x"], "already exists. Update it instead of adding it."),
        (["*** Update File: no.py", "@@", "-x"], "There is no file"),
        (["*** Delete File: no.py"], "There is no file"),
        (["*** Delete File: sub"], "is a directory"),
        (["*** Update File: a.py", "@@ nowhere", "-import os"], "There is no line 'nowhere' after line 0 of"),
        (["*** Update File: a.py", "@@", "-import sys"], "does not fit"),
        (["*** Update File: a.py", "*** Move to: b.txt", "@@", "-import os"], "b.txt already exists, so"),
        (["*** Update File: a.py", "@@", "-import os", "*** Delete File: a.py"], "a.py is in the patch twice."),
        (["*** Delete File: ./a.py", "*** Add File: a.py", "+x"], "a.py (also as ./a.py) is in the patch twice."),
        (["*** Update File: n.ipynb", "@@", "-{"], "is a notebook"),
        (["*** Update File: bin.dat", "@@", "-x"], "is a binary file"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_changes(patch, file, ctx, lines, words):
    file(APP), file("b\n", "b.txt"), file("{}", "n.ipynb"), file(b"\0\1x\0", "bin.dat")
    (ctx.cwd / "sub").mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in ctx.cwd.rglob("*") if path.is_file()}
    result = patch("*** Add File: first/new.txt", "+x", *lines)
    assert result.is_error
    assert words in result.text
    assert {path: path.read_bytes() for path in ctx.cwd.rglob("*") if path.is_file()} == before
    assert not (ctx.cwd / "first").exists()


def test_changes_out_of_order_or_over_each_other_are_refused(patch, file):
    path = file("a\nb\nc\nd\n")
    late = patch("*** Update File: a.py", "@@", "-c", "+C", "@@", "-a", "+A")
    assert "fits" in late.text
    assert "only at line 1, before or inside an earlier change" in late.text
    assert "must not overlap" in patch("*** Update File: a.py", "@@", " a", "-b", "@@", "-b", "+x").text
    assert path.read_text() == "a\nb\nc\nd\n"


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self/status").exists(), reason="needs a file system")
def test_files_before_a_failure_are_put_back(patch, read, file, ctx, monkeypatch):
    one, two, script = file("a\n", "one.txt"), file("b\n", "two.txt"), file("c\n", "three.sh")
    script.chmod(0o755)
    read(script), read(two)
    lines = [
        *("*** Add File: made/new.txt", "+new", "*** Update File: one.txt", "@@", "-a", "+A"),
        *("*** Update File: two.txt", "*** Move to: moved.txt", "*** Delete File: three.sh"),
        *("*** Delete File: four.txt",),
    ]
    four = file("d\n", "four.txt")
    read(four)
    folder = four.parent
    real = os.unlink

    def unlink(name, *args, **more):
        if name == "four.txt":
            raise PermissionError(1, "Operation not permitted")
        return real(name, *args, **more)

    monkeypatch.setattr(os, "unlink", unlink)
    result = patch(*lines)
    assert result.text.startswith(f"{four} cannot be written: Operation not permitted.")
    assert "The files before it in the patch were put back, so nothing has changed." in result.text
    assert sorted(path.name for path in folder.iterdir()) == ["four.txt", "one.txt", "three.sh", "two.txt"]
    assert [path.read_text() for path in (one, two, script, four)] == ["a\n", "b\n", "c\n", "d\n"]
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


def test_putting_back_gives_no_mode_to_what_a_link_means(patch, read, file, ctx, monkeypatch):
    script, last, other = file("c\n", "three.sh"), file("d\n", "four.txt"), file("secret\n", "other.txt")
    script.chmod(0o755)
    other.chmod(0o600)
    read(script), read(last)
    real = os.unlink

    def unlink(name, *args, **more):
        if name == "four.txt":
            raise PermissionError(1, "Operation not permitted")
        return real(name, *args, **more)

    def replace_by_link(event):
        if event.path == script and script.exists() and not script.is_symlink():
            script.unlink()
            script.symlink_to(other)

    monkeypatch.setattr(os, "unlink", unlink)
    ctx.files.listen(replace_by_link)
    result = patch("*** Delete File: three.sh", "*** Delete File: four.txt")
    assert script.is_symlink(), "the other program was in time"
    assert "three.sh" in result.text, "it says what could not be put back"
    assert stat.S_IMODE(other.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1 of the patch must be '*** Begin Patch', got ''"),
        ("*** Begin Patch\n*** Add File: a\n+x", "the last line of the patch must be '*** End Patch', got '+x'"),
        ("*** Begin Patch\n*** End Patch", "the patch is empty"),
        ("*** Begin Patch\n+x\n*** End Patch", "line 2 of the patch must begin with '*** Add File:'"),
        ("*** Begin Patch\n*** Add File: \n+x\n*** End Patch", "line 2 of the patch names no file"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 of the patch must begin with +, got 'x'"),
        ("*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "line 3: nothing may follow the deletion of a"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "line 2: the update of a has no changes"),
        ("*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch", "this change neither adds nor removes anything"),
        ("*** Begin Patch\n*** Update File: a\n@@\n?x\n*** End Patch", "must begin with a space, - or +, got '?x'"),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n*** End of File\n-y\n*** End Patch",
            "line 6 of the patch must begin with @@, got '-y'",
        ),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused_with_its_line(approve, call_tool, text, words):
    result = call_tool("ApplyPatch", input=text)
    assert result.is_error
    assert words in result.text


def test_a_patch_in_other_line_ends_and_with_space_around_it_is_read(approve, call_tool, file):
    path = file("a\n")
    text = "\n  *** Begin Patch\r\n*** Update File: a.py\r\n@@\r\n-a\r\n+b\r\n\r\n*** End Patch\r\n"
    assert not call_tool("ApplyPatch", input=text).is_error
    assert path.read_text() == "b\n"
