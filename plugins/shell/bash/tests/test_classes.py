"""Classes of commands that once were taken for reading: each was run in a box, and the data says what it did there."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pegboard_rules
from pegboard import Allow, Ask, Board, Context, Decision
from pegboard.settings import Layer, Settings
from pegboard_bash import Bash, BashInput
from pegboard_rules.opinions import decide_by_rules

sys.path.insert(0, str(Path(__file__).parent))
from worlds import WORLDS, effects, make_world

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "classes.jsonl").read_text().rstrip("\n").split("\n")
]
"""`effect` is what the command did: `writes`, `shows` a file that it must not show, or nothing."""

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
"""The short form runs every third command."""
DENIED = "Read(./secrets/**)"


def decide(repo: Path, command: str, mode: str = "default", deny: str = DENIED) -> Decision:
    settings = Settings([Layer("user", "x", {"permissions.deny": [deny]})], cwd=str(repo), root=str(repo))
    policy = Board(settings, [], plugins=[pegboard_rules], env={})
    ctx, args, tool = Context(repo, settings, mode, policy=policy), BashInput(command=command), Bash()
    said = tool.check_permission(args, ctx)
    facts = tool.facts(args, ctx)
    return decide_by_rules(tool, facts, ctx, args, [said] if said else [])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: make_world(kind, tmp_path_factory.mktemp(kind) / "here") for kind in WORLDS}


def test_no_command_that_did_harm_is_allowed(worlds: dict[str, Path]) -> None:
    harmful = [row for row in ROWS if row["effect"] and row["class"] != "edits"]
    assert len(harmful) > 250
    assert [row for row in harmful if isinstance(decide(worlds[row["world"]], row["command"]), Allow)] == []


def test_harmless_commands_are_allowed_as_far_as_before(worlds: dict[str, Path]) -> None:
    allowed = [row for row in ROWS if row["decision"] == "allow" and row["mode"] == "default"]
    assert len(allowed) > 350
    now = [row for row in allowed if isinstance(decide(worlds[row["world"]], row["command"]), Allow)]
    assert now == allowed


def test_edits_of_protected_paths_ask_in_accept_edits(worlds: dict[str, Path]) -> None:
    edits = [row for row in ROWS if row["mode"] == "acceptEdits"]
    assert {row["command"]: decide(worlds["plain"], row["command"], "acceptEdits").word for row in edits} == {
        row["command"]: row["decision"] for row in edits
    }


def test_plan_mode_lets_none_of_them_write(worlds: dict[str, Path]) -> None:
    writing = [row for row in ROWS if row["effect"] == "writes"]
    assert [row for row in writing if isinstance(decide(worlds[row["world"]], row["command"], "plan"), Allow)] == []


def test_every_class_has_its_neighbours() -> None:
    assert all(count >= 60 for count in Counter(row["class"] for row in ROWS).values())


@pytest.mark.timeout(3600)
def test_what_the_data_says_is_what_the_commands_do(tmp_path: Path) -> None:
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    rows = [row for row in ROWS if row["stable"]][:: 1 if SLOW else 3]
    found = effects(rows, tmp_path)
    assert [(row, effect) for row, effect in zip(rows, found, strict=True) if effect != row["effect"]] == []


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("grep -r foo .", "deny"),
        ("grep -r foo src", "allow"),
        ("grep -r --exclude-dir=secrets foo .", "allow"),
        ("grep -rn --include=*.py foo .", "allow"),
        ("git grep foo", "deny"),
        ("git grep foo -- src", "allow"),
        ("git log --oneline", "allow"),
        ("git log -p", "deny"),
        ("git show --stat", "allow"),
        ("git cat-file --batch-all-objects --batch", "deny"),
        ("git show HEAD:src/app.py", "allow"),
        ("git show HEAD:secrets/key", "deny"),
    ],
)
def test_a_recursive_reader_leaves_out_what_is_denied_or_is_denied(worlds, command, word):
    assert decide(worlds["plain"], command).word == word


def test_without_a_rule_on_paths_recursive_readers_are_free(worlds):
    assert isinstance(decide(worlds["plain"], "grep -r foo .", deny="Bash(rm:*)"), Allow)


def test_a_folder_that_cannot_be_entered_is_doubt(tmp_path):
    (tmp_path / "locked").write_text("")
    assert isinstance(decide(tmp_path, "cd locked; cat a"), Ask)
    assert isinstance(decide(tmp_path, "cd locked"), Ask)


def test_a_program_that_path_finds_in_the_project_asks(worlds, monkeypatch):
    repo = worlds["plain"]
    monkeypatch.setenv("PATH", f"{repo}/bin:/usr/bin:/bin")
    assert "program of this project" in decide(repo, "docker ps").reason
    monkeypatch.setenv("PATH", "bin:/usr/bin:/bin")
    assert "program of this project" in decide(repo, "timeout 5 docker ps").reason
    assert isinstance(decide(repo, "ls"), Allow)
