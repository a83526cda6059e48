"""Glob, through the door the model uses."""

from __future__ import annotations

import json
import os

import anyio
import pytest

from pegboard import Board, Call
from pegboard.settings import load
from pegboard_testing.warm import known_plugins


@pytest.fixture
def folder(ctx):
    return ctx.cwd


def make(folder, *names):
    for age, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
        os.utime(folder / name, (1_700_000_000 - age, 1_700_000_000 - age))


def test_glob_lists_the_newest_first_and_equals_by_path(call_tool, folder):
    make(folder, "old/new.py", "b.py", "a.py")
    os.utime(folder / "a.py", (1_700_000_000 - 1,) * 2)
    assert call_tool("Glob", pattern="**/*.py").text == "old/new.py\na.py\nb.py"


def test_a_pattern_without_stars_and_slash_stays_in_the_folder_and_says_so(call_tool, folder):
    make(folder, "sub/a.py")
    assert call_tool("Glob", pattern="*.py").text == "No files found.\nOnly **/ reaches subfolders: try **/*.py."


def test_glob_pages_with_true_totals(call_tool, folder):
    make(folder, *(f"f{number:03}.txt" for number in range(250)))
    first = call_tool("Glob", pattern="*.txt")
    assert first.text.splitlines()[-1] == "(Showing 1-100 of 250, newest first; continue with offset=100.)"
    assert (first.value.totalMatches, first.value.truncated, first.value.countIsComplete) == (250, True, True)
    rest = [call_tool("Glob", pattern="*.txt", offset=at).value for at in (100, 200)]
    names = [*first.value.filenames, *rest[0].filenames, *rest[1].filenames]
    assert names == [f"f{number:03}.txt" for number in range(250)]
    assert rest[1].truncated is False
    assert call_tool("Glob", pattern="*.txt", offset=900).text == "No entries at offset 900; there are 250 matches."


def test_ignored_files_are_counted_when_nothing_is_found(call_tool, folder):
    make(folder, "a.log", "sub/b.log")
    (folder / ".gitignore").write_text("*.log\n")
    assert (
        "Skipped: 2 matching files. To search there, pass respect_git_ignore=false"
        in call_tool("Glob", pattern="**/*.log").text
    )
    assert call_tool("Glob", pattern="**/*.log", respect_git_ignore=False).value.totalMatches == 2


def test_heavy_folders_are_skipped_unless_named(call_tool, folder):
    make(folder, "node_modules/x/a.js", "src/b.js", ".git/c.js")
    assert call_tool("Glob", pattern="**/*.js").value.filenames == ["src/b.js"]
    assert call_tool("Glob", pattern="node_modules/**/*.js").value.filenames == ["node_modules/x/a.js"]
    assert call_tool("Glob", pattern="*.js", path="node_modules/x").value.filenames == ["node_modules/x/a.js"]


def test_hidden_files_are_found_unless_a_setting_says_otherwise(folder, call_tool):
    make(folder, ".env", ".config/x.py", "a.py")
    assert call_tool("Glob", pattern="**/*.py").value.totalMatches == 2
    (folder / ".pegboard").mkdir()
    (folder / ".pegboard" / "settings.json").write_text(json.dumps({"search": {"hidden": False}}))
    board = Board.load(settings=load(folder, {"HOME": str(folder)}, managed="/nowhere"), env={"HOME": str(folder)})
    find = lambda pattern: anyio.run(board.dispatch, Call("1", "Glob", {"pattern": pattern})).value.filenames  # noqa: E731
    assert find("**/*.py") == ["a.py"]
    assert find(".env") == [".env"]
    assert find(".config/*.py") == [".config/x.py"]


def test_an_absolute_pattern_is_split_into_a_folder_and_the_rest(call_tool, folder):
    make(folder, "src/deep/a.py")
    result = call_tool("Glob", pattern=f"{folder}/src/**/*.py")
    assert result.value.root == f"{folder}/src"
    assert result.value.filenames == ["src/deep/a.py"]
    assert call_tool("Glob", pattern=f"{folder}/src/deep/a.py").value.filenames == ["src/deep/a.py"]


def test_an_absolute_pattern_outside_needs_permission_for_its_folder(call_tool, folder):
    outside = folder.parent / "elsewhere"
    make(outside, "a.py")
    result = call_tool("Glob", pattern=f"{outside}/*.py")
    assert (result.is_error, result.code) == (True, "permission_denied")
    assert str(outside) in result.text
    assert call_tool("Glob", pattern="../elsewhere/*.py").code == "permission_denied"


def test_denied_files_are_withheld(folder, approve, answers):
    make(folder, "src/a.txt", "secrets/b.txt")
    (folder / "link.txt").symlink_to("secrets/b.txt")
    (folder / ".pegboard").mkdir()
    (folder / ".pegboard" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(./secrets/**)"]}}))
    board = Board.load(settings=load(folder, {"HOME": "/nowhere"}, managed="/nowhere"), env={"HOME": "/nowhere"})
    result = anyio.run(board.dispatch, Call("1", "Glob", {"pattern": "**/*.txt"}))
    assert result.text == "src/a.txt\n(Files withheld by permission rules are not listed.)"


@pytest.mark.parametrize("ignored", ["", "*.key"])
@pytest.mark.parametrize("pattern", ["**/*", "*.key", "secrets/b*", "{secrets,src}/b.*", "**/*.{key,md}", "b.key"])
@pytest.mark.parametrize("more", [{}, {"include_dirs": True}, {"limit": 1}, {"offset": 1}])
def test_answers_do_not_tell_whether_a_withheld_file_exists(folder, ignored, pattern, more):
    make(folder, "src/a.txt", "secrets/other")
    (folder / ".gitignore").write_text(ignored)
    (folder / ".pegboard").mkdir()
    rules = {"permissions": {"deny": ["Read(./secrets/**)", "Read(**/*.key)"]}}
    (folder / ".pegboard" / "settings.json").write_text(json.dumps(rules))

    def said():
        home = folder.parent / "nobody"
        env = {"HOME": str(home)}
        with known_plugins(home):
            board = Board.load(settings=load(folder, env, managed="/nowhere"), env=env)
        result = anyio.run(board.dispatch, Call("1", "Glob", {"pattern": pattern, **more}))
        return result.text, result.value.model_copy(update={"durationMs": 0})

    before = said()
    changed = [path.stat() for path in (folder / "src", folder / "secrets", folder)]
    make(folder, "src/b.key", "secrets/b.md", "b.key")
    for path, status in zip((folder / "src", folder / "secrets", folder), changed, strict=True):
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert said() == before


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"pattern": "*", "path": "nowhere"}, "not_found", "There is no folder"),
        ({"pattern": "*", "path": "file"}, "unsupported", "is a file, not a folder"),
        ({"pattern": "a\0b"}, "invalid_input", "NUL byte"),
        ({"pattern": "*", "path": "a\0b"}, "invalid_input", "NUL byte"),
        ({"pattern": ""}, "invalid_input", "pattern"),
        ({"pattern": "a["}, "invalid_input", "a character class is never closed"),
        ({"pattern": "{a,b"}, "invalid_input", "a brace is never closed"),
        ({"pattern": "{a,b}" * 40}, "invalid_input", "more than 1000 patterns"),
        ({"pattern": "*/../x"}, "invalid_input", "'..' is allowed only at the beginning"),
        ({"pattern": "x" * 100_000}, "invalid_input", "pattern"),
    ],
)
def test_glob_refuses_what_cannot_be_searched(call_tool, folder, given, code, words):
    (folder / "file").write_text("x")
    result = call_tool("Glob", given)
    assert (result.is_error, result.code) == (True, code)
    assert words in result.text


def test_odd_entries_stop_nothing(call_tool, folder):
    make(folder, "a.txt")
    os.mkfifo(folder / "pipe.txt")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "up").symlink_to(folder)
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    with open(folder / "huge.txt", "wb") as file:
        file.truncate(10_000_000_000)
    result = call_tool("Glob", pattern="**/*.txt")
    assert sorted(result.text.splitlines()) == ["a.txt", "caf\\xe9.txt", "huge.txt", "loop.txt"]


def test_folders_are_found_when_asked_for(call_tool, folder):
    make(folder, "src/a/x.py")
    assert call_tool("Glob", pattern="*", include_dirs=True).value.filenames == ["src"]
    assert call_tool("Glob", pattern="*").value.filenames == []


def test_case_follows_the_input(call_tool, folder):
    make(folder, "READ.MD")
    assert call_tool("Glob", pattern="*.md", case_sensitive=False).value.filenames == ["READ.MD"]
    assert call_tool("Glob", pattern="*.md", case_sensitive=True).value.filenames == []


def test_time_that_runs_out_gives_partial_results_that_say_so(call_tool, folder, monkeypatch):
    import pegboard_glob.glob as module

    make(folder, "a.txt", "sub/b.txt")
    monkeypatch.setattr(module, "default_seconds", lambda: -1)
    result = call_tool("Glob", pattern="**/*.txt")
    assert result.value.timed_out
    assert not result.value.countIsComplete
    assert "timed out" in result.text
    assert "search.timeoutSeconds" in result.text


async def test_cancelling_ends_the_walk(board, ctx, monkeypatch):
    import pegboard_glob.glob as module

    for number in range(600):
        (ctx.cwd / f"d{number}" / "e").mkdir(parents=True)
    tallies = []
    real = module.Tally
    monkeypatch.setattr(module, "Tally", lambda: tallies.append(real()) or tallies[-1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(board.dispatch, Call("1", "Glob", {"pattern": "**/*"}), ctx)
        while not tallies or not tallies[0].folders:
            await anyio.sleep(0)
        tasks.cancel_scope.cancel()
    assert tallies[0].stop
    assert tallies[0].folders < 1201


def test_glob_only_reads_and_runs_beside_others(board, ctx):
    tool = board.find("Glob").tool
    facts = tool.facts(tool.input(pattern="*.py"), ctx)
    assert (facts.read_only, facts.concurrency_safe, facts.open_world) == (True, True, False)
    assert facts.reads == (ctx.cwd,)


def test_the_definition_is_short(board):
    assert len(board.find("Glob").tool.definition_bytes) < 1300
