"""Grep, through the door the model uses; what both engines promise is tested with both."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import Board, Call, Text
from pegboard.settings import load
from pegboard_testing.warm import known_plugins


@pytest.fixture
def folder(ctx):
    return ctx.cwd


def make(folder, **texts):
    for age, (name, text) in enumerate(texts.items()):
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000 - age,) * 2)


def board_with(folder, settings, **env):
    (folder / ".pegboard").mkdir(exist_ok=True)
    (folder / ".pegboard" / "settings.json").write_text(json.dumps(settings))
    home = folder.parent / "nobody"
    env = {"HOME": str(home), "PATH": os.environ["PATH"], **env}
    with known_plugins(home):
        return Board.load(settings=load(folder, env, trusted=True, managed="/nowhere"), env=env)


@pytest.fixture(params=["bundled", "python"])
def grep(request, folder):
    """Grep with each engine; the remark that names the slower one is taken off."""
    board = board_with(folder, {"grep": {"engine": request.param}})

    def call(pattern, /, **given):
        result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": pattern, **given}))
        text = result.text.replace("\n(Searched with the slower Python engine.)", "")
        return replace(result, content=(Text(text),))

    return call


def test_files_come_newest_first(grep, folder):
    make(folder, b_py="foo", a_py="foo", c_py="bar", sub__d_py="foo")
    assert grep("foo").text == "b.py\na.py\nsub/d.py"


def test_content_has_path_line_and_text(grep, folder):
    make(folder, b_py="x\nfoo 1\n", a_py="foo 2\nfoo 3")
    assert grep("foo", output_mode="content").text == "a.py:1:foo 2\na.py:2:foo 3\nb.py:2:foo 1"
    assert grep("foo", output_mode="content", **{"-n": False}).text == "a.py:foo 2\na.py:foo 3\nb.py:foo 1"
    assert grep(r"\d", output_mode="content", **{"-o": True}).text == "a.py:1:2\na.py:2:3\nb.py:2:1"


def test_context_is_grouped(grep, folder):
    make(folder, a_py="1\nfoo\n3\n4\n5\nfoo\n7\n", b_py="foo\n")
    shown = "a.py-1-1\na.py:2:foo\na.py-3-3\n--\na.py-5-5\na.py:6:foo\na.py-7-7\n--\nb.py:1:foo"
    assert grep("foo", output_mode="content", context=1).text == shown
    assert grep("foo", output_mode="content", **{"-C": 1}).text == shown
    assert grep("foo", output_mode="content", path="b.py", **{"-A": 1, "-B": 1}).text == "b.py:1:foo"


def test_count_totals_over_all_even_when_the_list_is_cut(grep, folder):
    make(folder, a_py="foo\nfoo\n", b_py="foo\n")
    result = grep("foo", output_mode="count", head_limit=1)
    expected = "a.py:2\nTotal: 3 matching lines in 2 files.\n(Showing 1-1 of 2 files; continue with offset=1.)"
    assert result.text == expected
    assert (result.value.numMatches, result.value.totalFiles, result.value.truncated) == (3, 2, True)


def test_pages_are_stable_and_an_offset_past_the_end_says_so(grep, folder):
    make(folder, a_py="foo\n" * 30, b_py="foo\n" * 30, c_py="bar\n")
    whole = grep("foo", output_mode="content", head_limit=0).value.content.splitlines()
    pages = [
        grep("foo", output_mode="content", head_limit=25, offset=at).value.content.splitlines() for at in (0, 25, 50)
    ]
    assert [line for page in pages for line in page] == whole
    assert grep("foo", output_mode="content", offset=99).text == "No entries at offset 99; there are 60."
    assert "continue with offset=25" in grep("foo", output_mode="content", head_limit=25).text


def test_a_multiline_pattern_spans_lines_and_names_each(grep, folder):
    make(folder, a_py="x\nbegin\nmid\nend\ny\n")
    assert grep("begin.*end", multiline=True, output_mode="content").text == "a.py:2:begin\na.py:3:mid\na.py:4:end"
    assert grep("begin.*end").text.startswith("No matches found")
    assert grep(r"begin\nmid", multiline=True, output_mode="count").text.startswith("a.py:1\n")


def test_plain_text_is_taken_as_it_is(grep, folder):
    make(folder, a_go="x interface{} y(")
    assert grep("interface{} y(", fixed_strings=True).text == "a.go"


def test_a_pattern_may_begin_with_a_dash(grep, folder):
    make(folder, a_txt="--files -e x")
    assert grep("--files", output_mode="content").text == "a.txt:1:--files -e x"
    assert grep("-e").text == "a.txt"


@pytest.mark.parametrize(
    ("pattern", "more", "words"),
    [
        ("a(", {}, "fixed_strings=true"),
        ("interface{}", {}, "write \\{ for a literal brace"),
        ("(?=a)", {}, "Look-around is not supported"),
        (r"(a)\1", {}, "Backreferences are not supported"),
        ("a\\nb", {}, "multiline=true"),
        ("a", {"type": "nonsense"}, "unrecognized file type: nonsense"),
        ("a", {"glob": "a["}, "a character class is never closed"),
        ("", {}, "pattern is empty"),
        ("a\0b", {}, "NUL byte"),
        ("x" * 100_001, {}, "the limit is 100000"),
        ("a", {"path": "nowhere"}, "There is no file or folder"),
        ("a", {"path": "pipe"}, "neither a regular file nor a folder"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_a_reason(grep, folder, pattern, more, words):
    make(folder, a_txt="a")
    os.mkfifo(folder / "pipe")
    began = time.monotonic()
    result = grep(pattern, **more)
    assert result.is_error
    assert words in result.text
    assert time.monotonic() - began < 10


def test_a_very_long_pattern_works_up_to_the_limit(grep, folder):
    text = " ".join(str(number) for number in range(20_000))[:100_000]
    make(folder, a_txt=text)
    assert grep(text, fixed_strings=True).text == "a.txt"


def test_nothing_found_tells_what_was_skipped(grep, folder):
    make(folder, a_log="foo", sub__b_log="foo", build__c_txt="foo", d_txt="bar", node_modules__x_js="foo")
    (folder / "node.modules").rename(folder / "node_modules")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    text = grep("foo").text
    assert text.startswith("No matches found in ")
    assert "Skipped by ignore rules: 2 files, 1 folder, 1 heavy folder; pass include_ignored=true" in text
    assert grep("foo", include_ignored=True).value.totalFiles == 4


def test_nothing_searched_is_not_the_same_as_no_match(grep, folder):
    make(folder, a_txt="foo")
    assert grep("foo", glob="*.zip").text.startswith("Nothing was searched: no file matches path, glob and type.")


def test_an_ignored_file_or_folder_given_directly_is_searched(grep, folder):
    make(folder, build__c_txt="foo", a_log="foo")
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    assert grep("foo", path="build").text == "build/c.txt"
    assert grep("foo", path="a.log", output_mode="content").text == "a.log:1:foo"


def test_a_glob_narrows_and_never_brings_ignored_files_back(grep, folder):
    make(folder, a_log="foo", a_py="foo", b_py="foo")
    (folder / ".gitignore").write_text("*.log\n")
    assert grep("foo", glob="*.{log,py}").text == "a.py\nb.py"
    assert grep("foo", glob="*.py,!b*").text == "a.py"
    assert grep("foo", glob="*.py", type="py").text == "a.py\nb.py"


def test_hidden_files_are_searched_unless_unwanted_and_git_never_is(grep, folder):
    make(folder, a_py="foo")
    (folder / ".env").write_text("foo")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("foo")
    assert sorted(grep("foo").value.filenames) == [".env", "a.py"]
    assert grep("foo", hidden=False).value.filenames == ["a.py"]
    assert sorted(grep("foo", include_ignored=True).value.filenames) == [".env", "a.py"]


def test_long_lines_are_cut_around_the_match(grep, folder):
    (folder / "min.js").write_text("é" * 50_000 + "needle" + "é" * 50_000 + "\n")
    text = grep("needle", output_mode="content").value.content
    assert len(text) < 800
    assert "é needle é".replace(" ", "") in text
    assert text.startswith("min.js:1:… é")
    assert text.endswith(" … (200006 bytes)")


def test_files_that_are_not_utf8_are_searched_and_shown_escaped(grep, folder):
    (folder / "latin.txt").write_bytes(b"caf\xe9 foo\n")
    (folder / "wide.txt").write_bytes(b"\xff\xfe" + "wide foo\n".encode("utf-16-le"))
    (folder / os.fsdecode(b"n\xffme.txt")).write_text("foo")
    (folder / "binary.bin").write_bytes(b"\0\1foo\n")
    lines = grep("foo", output_mode="content").value.content.splitlines()
    assert sorted(lines) == ["latin.txt:1:caf\\xe9 foo", "n\\xffme.txt:1:foo", "wide.txt:1:wide foo"]


def test_carriage_returns_do_not_hide_the_end_of_a_line(grep, folder):
    (folder / "a.txt").write_bytes(b"foo\r\nbar\r\n")
    assert grep("foo$", output_mode="content").text == "a.txt:1:foo"


def test_names_with_newlines_survive(grep, folder):
    (folder / "a\nb.txt").write_text("foo\nfoo\n")
    assert grep("foo").value.filenames == ["a\nb.txt"]
    assert grep("foo", output_mode="content").value.totalLines == 2


def test_odd_entries_stop_nothing(grep, folder):
    make(folder, a_txt="foo")
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "up").symlink_to(folder)
    with open(folder / "huge", "wb") as file:
        file.truncate(10_000_000_000)
    assert grep("foo").text == "a.txt"


def test_denied_files_are_withheld(folder):
    make(folder, a_txt="foo", secrets__b_txt="foo")
    for engine in ("bundled", "python"):
        board = board_with(folder, {"grep": {"engine": engine}, "permissions": {"deny": ["Read(./secrets/**)"]}})
        for mode in ("files_with_matches", "content", "count"):
            result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "foo", "output_mode": mode}))
            assert "(Files withheld by permission rules were not searched.)" in result.text
            assert "secrets" not in result.text
            assert result.value.totalFiles == 1


def test_the_slower_engine_is_named(folder):
    make(folder, a_txt="foo")
    board = board_with(folder, {"grep": {"engine": "python"}})
    result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "foo"}))
    assert result.text == "a.txt\n(Searched with the slower Python engine.)"
    assert result.value.engine == "python"


def test_a_system_without_rg_falls_back_and_says_why(folder, monkeypatch):
    make(folder, a_txt="foo")
    monkeypatch.setenv("PATH", "/nowhere")
    board = board_with(folder, {"grep": {"engine": "system"}})
    result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "foo"}))
    assert result.text == "a.txt\n(Searched with the slower Python engine: there is no rg on PATH.)"


def fake_rg(place: Path, script: str) -> None:
    place.mkdir()
    (place / "rg").write_text(f"#!/bin/sh\n{script}\n")
    (place / "rg").chmod(stat.S_IRWXU)


def test_a_system_out_of_threads_is_asked_again_with_one(folder, monkeypatch, tmp_path_factory):
    from pegboard_grep.engines import bundled

    make(folder, a_txt="foo")
    place = tmp_path_factory.mktemp("bin") / "x"
    script = f'case "$*" in *--threads=1*) exec {bundled()} "$@";; esac\n'
    fake_rg(place, script + 'echo "rg: failed to spawn: Resource temporarily unavailable (os error 11)" >&2; exit 2')
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    board = board_with(folder, {"grep": {"engine": "system"}})
    assert anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "foo"})).text == "a.txt"


def test_time_that_runs_out_gives_what_was_found_and_says_so(folder, monkeypatch, tmp_path_factory):
    make(folder, a_txt="foo")
    place = tmp_path_factory.mktemp("bin") / "x"
    fake_rg(place, "printf './a.txt\\0'; exec sleep 60")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    board = board_with(folder, {"grep": {"engine": "system"}, "search": {"timeoutSeconds": 1}})
    began = time.monotonic()
    result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "foo"}))
    assert time.monotonic() - began < 10
    assert result.value.timed_out
    assert result.text.startswith("a.txt\n(The search timed out")


def test_a_catastrophic_pattern_ends_with_the_time_limit(folder):
    (folder / "a.txt").write_text("a" * 5000 + "!\n")
    board = board_with(folder, {"grep": {"engine": "python"}, "search": {"timeoutSeconds": 1}})
    began = time.monotonic()
    result = anyio.run(board.dispatch, Call("1", "Grep", {"pattern": "(a|aa|a*)*b$"}))
    assert time.monotonic() - began < 10
    assert result.value.timed_out


async def test_cancelling_ends_the_program_and_first_results_are_reported(folder, monkeypatch, tmp_path_factory):
    make(folder, a_txt="foo")
    place = tmp_path_factory.mktemp("bin") / "x"
    fake_rg(place, f"echo $$ > {place}/pid; printf './a.txt\\0'; exec sleep 60")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    board = board_with(folder, {"grep": {"engine": "system"}})
    reported = anyio.Event()
    seen = []

    def on_progress(progress):
        seen.append(progress)
        reported.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(board.dispatch, Call("1", "Grep", {"pattern": "foo"}), board.context(on_progress=on_progress))
        await reported.wait()
        tasks.cancel_scope.cancel()
    assert (seen[0].message, seen[0].data["latest"]) == ("1 files with matches so far", "a.txt")
    with pytest.raises(ProcessLookupError):
        os.kill(int((place / "pid").read_text()), 0)


def test_grep_only_reads_and_runs_beside_others(board, ctx):
    tool = board.find("Grep").tool
    facts = tool.facts(tool.input(pattern="x"), ctx)
    assert (facts.read_only, facts.concurrency_safe, facts.open_world) == (True, True, False)
    assert facts.reads == (ctx.cwd,)


def test_a_folder_outside_needs_permission(call_tool, folder):
    assert call_tool("Grep", pattern="x", path="..").code == "permission_denied"


def test_the_definition_is_short(board):
    assert len(board.find("Grep").tool.definition_bytes) < 2300
