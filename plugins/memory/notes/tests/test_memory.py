"""The notes of a project on a real disk: what they are, what is refused, and what nothing can leave."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import Allow, Board
from pegboard.settings import load
from pegboard_notes.note_path import ROOT, canonical_path, relative
from pegboard_testing.warm import warm


@pytest.fixture
def folder(ctx) -> Path:
    """Where the notes of the test's project are."""
    return ctx.service("notes").folder


@pytest.fixture
def memory(approve, call_tool):
    """Call the tool; a person approves."""

    def call(command: str, path: str | None = None, **more: Any) -> Any:
        return call_tool("memory", {"command": command, **({"path": path} if path else {}), **more})

    return call


def test_notes_are_made_read_changed_renamed_and_deleted(memory, folder):
    assert memory("view").text == "There are no notes yet."
    assert memory("create", "/memories/build.md", file_text="# Build\nmake\n").text == (
        "Created the note /memories/build.md."
    )
    assert memory("view", "/memories/build.md").text == "     1\t# Build\n     2\tmake"
    memory("insert", "/memories/build.md", insert_line=1, insert_text="First: configure")
    memory("str_replace", "/memories/build.md", old_str="make\n", new_str="make all\n")
    assert (folder / "build.md").read_text() == "# Build\nFirst: configure\nmake all\n"
    assert memory("view", "/memories/build.md", view_range=[2, -1]).text == "     2\tFirst: configure\n     3\tmake all"
    moved = memory("rename", old_path="/memories/build.md", new_path="/memories/how/build.md")
    assert moved.text == "Renamed the note /memories/build.md to /memories/how/build.md."
    assert memory("view").text == "/memories has 1 note:\n/memories/how/build.md: Build (34 bytes)"
    assert memory("delete", "/memories/how/build.md").text == "Deleted the note /memories/how/build.md."
    assert os.listdir(folder) == [], "an empty folder goes with its last note"


def test_a_path_has_one_spelling_for_rules_and_hooks(memory):
    memory("create", "style.md", file_text="Tabs.")
    assert memory("view", "/memories/style.md/").value.path == "/memories/style.md"
    assert memory("view", "/memories/").text.startswith("/memories has 1 note")


def test_notes_are_private_and_outside_of_the_project(memory, folder, ctx):
    memory("create", "a/b.md", file_text="x")
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o700
    assert ctx.cwd not in folder.parents
    assert os.listdir(ctx.cwd) == []


BAD = [
    ({"command": "create", "path": "a.md"}, "create needs file_text."),
    ({"command": "rename", "old_path": "a.md"}, "rename needs new_path."),
    ({"command": "insert", "path": "a.md", "insert_text": "x"}, "insert needs insert_line."),
    ({"command": "view", "path": "a.md", "file_text": "x"}, "view has no use for file_text."),
    ({"command": "delete", "path": "/memories"}, "/memories is the folder of the notes."),
    ({"command": "str_replace", "path": "a.md", "old_str": "", "new_str": "x"}, "old_str is empty. Use insert"),
    ({"command": "view", "path": "a.md", "view_range": [2, 1]}, "view_range must be [first, last]"),
    ({"command": "view", "path": "a.md", "view_range": [9, -1]}, "it cannot be viewed from line 9"),
    ({"command": "view", "path": "/memories", "view_range": [1, 2]}, "/memories is a folder"),
    ({"command": "view", "path": "/memories/b.md"}, "There is no note /memories/b.md. Did you mean 'b.MD'?"),
    ({"command": "delete", "path": "quux"}, "There is no note /memories/quux. View /memories"),
    ({"command": "create", "path": "a.md", "file_text": "x"}, "There is already a note /memories/a.md."),
    ({"command": "create", "path": "A.MD", "file_text": "x"}, "There is already a note /memories/a.md."),
    ({"command": "create", "path": "a.md/b.md", "file_text": "x"}, "one would be the folder of the other"),
    ({"command": "rename", "old_path": "a.md", "new_path": "B.md"}, "There is already a note /memories/b.MD."),
    (
        {"command": "str_replace", "path": "a.md", "old_str": "two", "new_str": "x"},
        "That text is not in",
    ),
    (
        {"command": "str_replace", "path": "a.md", "old_str": "o", "new_str": "x"},
        "occurs 2 times in",
    ),
    ({"command": "insert", "path": "a.md", "insert_line": 9, "insert_text": "x"}, "insert_line cannot be 9"),
    ({"command": "insert", "path": "a.md", "insert_line": -1, "insert_text": "x"}, "insert_line"),
    ({"command": "create", "path": "c.md", "file_text": "x" * 20_001}, "the limit for a note is 20,000"),
    ({"command": "forget", "path": "a.md"}, "command"),
    ({"command": "view", "path": "a.md", "lines": 3}, "lines"),
]


def test_bad_input_gets_the_documented_error_and_nothing_is_lost(memory, call_tool, folder):
    memory("create", "a.md", file_text="one\nmore\n")
    memory("create", "b.MD", file_text="other\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for sent, words in BAD:
        result = call_tool("memory", sent)
        assert (result.is_error, words in result.text) == (True, True), (sent, result.text)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, sent


ESCAPES = [
    *("../up.md", "/memories/../up.md", "a/../../up.md", "..", "/memories/..", "a/./b.md", ".hidden", "a//b.md"),
    *("/etc/passwd", "//memories/a.md", "/memoriesa.md", "~/a.md", "%2e%2e/a.md", "..%2fa.md", "a\\..\\b.md", "C:a.md"),
    *(
        "a\0b.md",
        "a\nb.md",
        "\u2025/a.md",
        "\uff0e\uff0e/a.md",
        "a\u2215b.md",
        "b\u0430d.md",
        "a\u200b.md",
        "\u202ea.md",
    ),
    *("a b.md", "-rf", "a.", "a..b", "x" * 65, "a/b/c/d/e.md", "", "/memories/a:b"),
]


def test_no_path_leaves_the_folder_or_looks_like_another(call_tool, approve, folder):
    for path in ESCAPES:
        for command, more in {"view": {}, "create": {"file_text": "x"}, "delete": {}}.items():
            result = call_tool("memory", {"command": command, "path": path, **more})
            assert result.is_error, (command, path)
            assert not folder.exists()


@given(st.text(st.sampled_from("ab./\\~%:\0\n\uff0e\u2024é") | st.characters(), max_size=20))
def test_whatever_is_accepted_stays_below_the_root(path):
    try:
        canonical = canonical_path(path)
    except ValueError:
        return
    below = os.path.normpath(os.path.join("/top", relative(canonical)))
    assert canonical == ROOT or below == f"/top/{relative(canonical)}"
    assert canonical.isascii()
    assert canonical_path(canonical) == canonical


@pytest.mark.parametrize("what", ["file", "folder", "root", "hard", "fifo"])
def test_links_and_strange_files_are_never_followed(memory, folder, tmp_path, what):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret\n")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if what == "root":
        folder.symlink_to(outside)
    else:
        folder.mkdir()
    if what == "file":
        (folder / "a.md").symlink_to(outside / "a.md")
    if what == "folder":
        (folder / "sub").symlink_to(outside)
    if what == "hard":
        os.link(outside / "a.md", folder / "a.md")
    if what == "fifo":
        os.mkfifo(folder / "a.md")
    path = "sub/a.md" if what == "folder" else "a.md"
    replace, create = {"old_str": "secret", "new_str": "x"}, {"file_text": "x"}
    for command, more in {"view": {}, "str_replace": replace, "delete": {}, "create": create}.items():
        result = memory(command, path, **more)
        assert (result.is_error, "secret" in result.text) == (True, False), command
        assert (outside / "a.md").read_text() == "secret\n"
        assert os.listdir(outside) == ["a.md"]
    assert "a.md" not in memory("view").text


def test_a_link_that_is_planted_while_a_person_reads_the_question_is_refused(memory, folder, answers, tmp_path):
    memory("create", "a.md", file_text="one\n")
    victim = tmp_path / "victim"
    victim.write_text("precious\n")

    class Swap:
        def __get__(self, *_: object) -> Allow:
            (folder / "a.md").unlink()
            (folder / "a.md").symlink_to(victim)
            return Allow("Yes.", layer="ask")

    swapping = type("Swapping", (type(answers),), {"decision": Swap()})
    answers.__dict__.pop("decision")
    answers.__class__ = swapping
    assert memory("str_replace", "a.md", old_str="one", new_str="two").is_error
    assert victim.read_text() == "precious\n"


def test_there_are_limits_of_count_and_size(tmp_path):
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    chosen = {"notes": {"most": 2, "mostChars": 10}, "permissions": {"allow": ["memory"]}}
    board = Board.load(settings=load(tmp_path, env, chosen, managed=str(tmp_path / "m")), env=env)

    def create(path: str, text: str = "x") -> Any:
        return board.call_sync("memory", {"command": "create", "path": path, "file_text": text})

    assert [create(name).is_error for name in ("a.md", "b.md")] == [False, False]
    full = create("c.md")
    assert (full.code, full.text.partition(".")[0]) == ("too_large", "This project has 2 notes; the limit is 2")
    grown = board.call_sync(
        "memory", {"command": "insert", "path": "a.md", "insert_line": 0, "insert_text": "much too long"}
    )
    assert "the limit for a note is 10." in grown.text
    renamed = board.call_sync("memory", {"command": "rename", "old_path": "a.md", "new_path": "d.md"})
    assert not renamed.is_error, "a full folder can still be tidied"


def test_a_file_that_another_program_has_put_there_does_no_harm(memory, folder):
    memory("create", "a.md", file_text="x")
    (folder / "big.md").write_bytes(b"x" * 200_000)
    (folder / "raw.md").write_bytes(b"\xff\xfe\x00")
    (folder / ".hidden").write_text("x")
    assert memory("view", "big.md").code == "too_large"
    assert memory("view", "raw.md").code == "unsupported"
    assert "/memories/a.md: x" in memory("view").text
    assert ".hidden" not in memory("view").text


def test_every_change_can_be_taken_back(memory, ctx, folder):
    memory("create", "a.md", file_text="one\n")
    changed = memory("str_replace", "a.md", old_str="one", new_str="two")
    memory("delete", "a.md")
    entries = ctx.files.undo_entries()
    assert [(entry.path.name, bool(entry.before), bool(entry.after)) for entry in entries] == [
        ("a.md", False, True),
        ("a.md", True, True),
        ("a.md", True, False),
    ]
    assert entries[1].stored.read_text() == "one\n"
    assert changed.value.original_digest == entries[1].before


RULES = [
    ({"deny": ["memory"]}, "view", "not_found"),
    ({"deny": ["memory(path:/memories/private/*)"]}, "view", "permission_denied"),
    ({"deny": ["memory(path:/memories/private/*)"]}, "create", "permission_denied"),
    ({"deny": ["Read(/HOME/.local/share/pegboard/**/private/**)"]}, "view", "permission_denied"),
    ({"deny": ["Edit(/HOME/.local/share/pegboard/**/private/**)"]}, "create", "permission_denied"),
    ({"deny": ["memory(/HOME/.local/share/pegboard/**/private/**)"]}, "create", "permission_denied"),
    ({"ask": ["memory(path:/memories/private/*)"]}, "view", "permission_denied"),
    ({"allow": ["memory"]}, "create", ""),
    ({"allow": ["memory(/HOME/.local/share/pegboard/memory/**)"]}, "create", ""),
    ({}, "create", "permission_denied"),
    ({}, "view", ""),
]


@pytest.mark.parametrize(("rules", "command", "code"), RULES)
def test_rules_reach_notes_by_name_path_and_parameter(tmp_path, rules, command, code):
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    written = {kind: [rule.replace("HOME", str(tmp_path / "home")) for rule in some] for kind, some in rules.items()}
    settings = load(tmp_path, env, {"permissions": written}, managed=str(tmp_path / "m"))
    board = Board.load(settings=settings, env=env)
    place = board.context().service("notes").folder / "private"
    if command == "view":
        place.mkdir(parents=True)
        (place / "a.md").write_text("x")
    more = {"file_text": "x"} if command == "create" else {}
    for spelling in ("private/a.md", "/memories/private/a.md")[: None if code else 1]:
        result = board.call_sync("memory", {"command": command, "path": spelling, **more})
        assert (result.code or "") == code, result.text
        assert "approve" not in result.text or not rules.get("deny")
        assert (place / "a.md").exists() == (command == "view" or not code)


@pytest.mark.parametrize(("mode", "changes"), [("plan", False), ("dontAsk", False), ("acceptEdits", False)])
def test_modes_let_notes_be_read_and_not_changed_unseen(board, mode, changes):
    ctx = board.context(mode=mode)
    assert board.call_sync("memory", {"command": "view"}, ctx).text == "There are no notes yet."
    made = board.call_sync("memory", {"command": "create", "path": "a.md", "file_text": "x"}, ctx)
    assert made.is_error != changes


WRITER = """
import sys
from pathlib import Path
from pegboard import Board
board = Board.load(settings={"permissions": {"allow": ["memory"]}, "notes": {"most": 8}}, cwd=Path(sys.argv[1]))
for number in range(6):
    made = {"command": "create", "path": f"n{sys.argv[2]}-{number}.md", "file_text": "x"}
    print(board.call_sync("memory", made).code or "made")
    line = {"command": "insert", "path": "shared.md", "insert_line": 0, "insert_text": f"{sys.argv[2]} {number}\\n"}
    assert not board.call_sync("memory", line).is_error
"""


def test_two_sessions_lose_nothing_and_do_not_go_over_the_limit(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    env = {**os.environ, "HOME": str(warm(home))}
    board = Board.load(settings={"permissions": {"allow": ["memory"]}}, cwd=project, env=env)
    board.call_sync("memory", {"command": "create", "path": "shared.md", "file_text": "start\n"})
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, project, name], env=env, stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    said = [writer.communicate(timeout=120)[0].split() for writer in running]
    assert [writer.returncode for writer in running] == [0, 0]
    assert sum(words.count("made") for words in said) == 7
    assert {word for words in said for word in words} == {"made", "too_large"}
    folder = board.context().service("notes").folder
    lines = (folder / "shared.md").read_text().splitlines()
    assert sorted(lines) == sorted(["start", *(f"{name} {number}" for name in "ab" for number in range(6))])


def test_without_a_home_there_are_no_notes(tmp_path):
    board = Board.load(settings=load(tmp_path, {}, managed=str(tmp_path / "m")), env={})
    result = board.call_sync("memory", {"command": "view"})
    assert result.code == "unsupported"
    assert "There is no home directory to keep notes in." in result.text
