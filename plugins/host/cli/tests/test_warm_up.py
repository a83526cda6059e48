"""What is imported while the first answer is on its way, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAD = """
import sys, threading
from pegboard import Board
from pegboard_cli import warm_up
warm_up.HEAD_START = 0
warm_up.PATIENCE = 20
board = Board.load()
"""
AND_SHOW = """
import json
print(json.dumps({"modules": sorted(m for m in sys.modules if m.startswith(("pegboard_", "tree_sitter"))),
                  "threads": [t.name for t in threading.enumerate()]}))
"""
WARM = """
with warm_up.warming_up(board.pool.entries, board.plugins):
    [t.join() for t in threading.enumerate() if t.name == "pegboard-warm-up"]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index: without one, the first board imports every plugin to describe it."""
    folder = tmp_path_factory.mktemp("home")
    run("", folder)
    return folder


def run(code: str, home: Path, **env: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code + AND_SHOW],
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_the_modules_of_listed_tools_and_what_they_name_are_imported(home: Path) -> None:
    before, after = run("", home)["modules"], run(WARM, home)["modules"]
    assert "pegboard_edit.edit" not in before
    assert {"pegboard_edit.edit", "pegboard_read.read", "pegboard_bash.understanding"} <= set(after)


def test_the_first_bash_call_finds_everything_of_its_own_imported(home: Path) -> None:
    call = """
import anyio
from pegboard import Call
before = set(sys.modules)
[result] = anyio.run(board.run, [Call("1", "Bash", {"command": "cat a.txt | wc -l"})])
new = sorted(m for m in set(sys.modules) - before if m.startswith(("pegboard_bash", "tree_sitter")))
assert new == [], new
"""
    (home / "a.txt").write_text("1\n")
    run(WARM + call, home)


def test_every_module_that_a_plugin_of_ours_names_exists(home: Path) -> None:
    run("import pegboard_bash\nfor name in pegboard_bash.WARM_UP:\n    __import__(name)\n", home)


@pytest.mark.parametrize("switch", [{"PEGBOARD_DISABLE": "files.edit"}, {"PEGBOARD_ONLY": "search,shell"}])
def test_a_plugin_that_is_switched_off_is_never_imported(switch: dict[str, str], home: Path) -> None:
    after = run(WARM, home, **switch)["modules"]
    assert "pegboard_grep.grep" in after
    assert not any(module.startswith("pegboard_edit") for module in after)


def test_leaving_stops_it_before_the_next_module(home: Path) -> None:
    early = "warm_up.HEAD_START = 60\nwith warm_up.warming_up(board.pool.entries, board.plugins): pass\n"
    seen = run(early, home)
    assert "pegboard_edit.edit" not in seen["modules"]
    assert seen["threads"] == ["MainThread"]


def test_the_pool_and_its_definitions_are_the_same_before_and_after(home: Path) -> None:
    same = f"was = board.pool.request_bytes(){WARM}\nassert board.refresh().request_bytes() == was\n"
    run(same, home)


def test_what_cannot_be_imported_is_left_to_the_first_call(home: Path) -> None:
    broken = """
import pegboard_bash
pegboard_bash.WARM_UP = ("no_such_module_anywhere", "pegboard_bash.understanding")
for plugin in board.plugins:
    if plugin["entry"] == "files.edit":
        plugin["scan"]["origin"] = "/somewhere/else.py"
"""
    after = run(broken + WARM, home)["modules"]
    assert "pegboard_bash.understanding" in after
    assert "pegboard_edit.edit" not in after, "a module that is not the one that was checked must not be imported"


def test_a_prompt_without_calls_is_answered_before_pydantic_is_imported(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"content": [{"type": "text", "text": "Paris"}]}) + "\n")
    code = f"""
warm_up._import_all = lambda plugins, stop: None
from pegboard_cli.main import main
assert main(["run", "--replay", {str(script)!r}, "hello"]) == 0
early = {{"pydantic", "pydantic_core", "tomllib"}} & set(sys.modules)
assert not early, early
"""
    threads = run(code, home)["threads"]
    # A worker of anyio ends by itself, a moment after the event loop.
    assert [name for name in threads if not name.startswith("AnyIO worker")] == ["MainThread"]
