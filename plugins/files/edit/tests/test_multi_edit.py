"""MultiEdit is another name for Edit with a list of edits, for those who name it: agents, hooks and rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from pegboard import Board

TWO = [{"old_string": "one", "new_string": "eins"}, {"old_string": "two", "new_string": "zwei"}]


@pytest.fixture
def path(ctx) -> Path:
    made = ctx.cwd / "a.txt"
    made.write_text("one\ntwo\n")
    return made


def test_all_edits_are_made_at_once(approve, call_tool, path):
    call_tool("Read", file_path="a.txt")
    result = call_tool("MultiEdit", file_path="a.txt", edits=TWO)
    assert (result.is_error, path.read_text()) == (False, "eins\nzwei\n")


def test_one_that_fails_is_named_and_nothing_changes(approve, call_tool, path):
    call_tool("Read", file_path="a.txt")
    result = call_tool("MultiEdit", file_path="a.txt", edits=[TWO[0], {"old_string": "three", "new_string": "3"}])
    assert result.is_error
    assert "edits[1]" in result.text or "edit 2" in result.text.lower()
    assert path.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("rule", ["MultiEdit", "MultiEdit(a.txt)", "Edit(a.txt)"])
@pytest.mark.parametrize("name", ["Edit", "MultiEdit"])
def test_rules_for_either_name_hold_for_both(tmp_path, rule, name):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    board = Board.load(settings={"permissions": {"deny": [rule]}}, cwd=tmp_path)
    result = board.call_sync(name, {"file_path": "a.txt", "edits": TWO})
    assert result.code == ("not_found" if rule == "MultiEdit" else "permission_denied")
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
