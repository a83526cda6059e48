"""The core with its library of settings and one own tool, and nothing else: useful, and safe without rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .venvs import Environment, Supplies

NOTES = '''
from pathlib import Path

from pegboard import Context, Input, hookimpl, tool


class NoteInput(Input):
    file_path: Path


@tool(read_only=True, open_world=False)
def ReadNote(args: NoteInput, ctx: Context) -> str:
    """Read a note."""
    return ctx.resolve(args.file_path).read_text()


@tool(open_world=False)
def WriteNote(args: NoteInput, ctx: Context) -> str:
    """Write a note."""
    ctx.resolve(args.file_path).write_text("written")
    return "done"


@hookimpl
def register_tools():
    return [ReadNote, WriteNote]
'''

CALLING = """
import json, sys
from pathlib import Path
import anyio
from pegboard import Allow, Board, Call, hookimpl
from pegboard.settings import load

name, file, mode, answers, roots = json.loads(sys.argv[1])

class Person:
    @hookimpl
    def ask_user(self, question):
        return Allow("yes", layer="ask")

board = Board.load(settings=load(), plugins=[Person()] if answers else [])
ctx = board.context(mode=mode, roots=tuple(map(Path, roots)))
[result] = anyio.run(board.run, [Call("1", name, {"file_path": file})], ctx)
print(json.dumps({
    "text": result.text, "code": result.code, "layer": result.decision.layer, "word": result.decision.word,
    "modes": list(board.hooks.modes), "starting": [str(x) for x in board.hooks.modes.starting(board.settings)],
    "modules": [name for name in sys.modules if name.startswith("pegboard")],
}))
"""


class Alone:
    """An environment with pegboard-core, what it requires, and the notes."""

    def __init__(self, environment: Environment) -> None:
        self.environment, self.work = environment, environment.work

    def call(
        self, name: str, file: object, mode: str = "default", *, answers: bool = False, roots: Any = ()
    ) -> dict[str, Any]:
        given = json.dumps([name, str(file), mode, answers, [str(root) for root in roots]])
        done = self.environment.start(self.environment.python, "-c", CALLING, given)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def alone(supplies: Supplies, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    made = Environment(
        tmp_path_factory.mktemp("alone") / "core", supplies, usual=("pegboard-core", "pegboard-settings")
    )
    made.plugin("acme-notes", NOTES, {"notes.files": "acme_notes"})
    (made.work / "a.txt").write_text("inside")
    (made.folder / "b.txt").write_text("outside")
    (made.work / "door").symlink_to(made.folder / "b.txt")
    return Alone(made)


def test_a_tool_that_only_reads_runs_in_the_working_directory(alone: Alone) -> None:
    found = alone.call("ReadNote", "a.txt")
    assert (found["text"], found["word"], found["layer"]) == ("inside", "allow", "read-only")
    assert {name.partition(".")[0] for name in found["modules"]} == {"pegboard", "pegboard_settings"}


@pytest.mark.parametrize("file", ["../b.txt", "door"])
def test_outside_it_asks_and_with_nobody_to_ask_is_denied(alone: Alone, file: str) -> None:
    found = alone.call("ReadNote", file)
    assert (found["code"], found["word"]) == ("permission_denied", "deny")
    assert "outside the working directories. There was no one to approve it." in found["text"]
    assert alone.call("ReadNote", file, answers=True)["text"] == "outside"


def test_another_root_is_read_too(alone: Alone) -> None:
    found = alone.call("ReadNote", "../b.txt", roots=[alone.environment.folder])
    assert (found["text"], found["layer"]) == ("outside", "read-only")


def test_everything_else_asks(alone: Alone) -> None:
    target = alone.work / "new.txt"
    assert alone.call("WriteNote", target)["code"] == "permission_denied"
    assert not target.exists()
    assert alone.call("WriteNote", target, answers=True)["text"] == "done"
    assert target.read_text() == "written"


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_the_modes_of_the_core_are_stricter_than_the_default(alone: Alone, mode: str) -> None:
    assert alone.call("ReadNote", "a.txt", mode, answers=True)["text"] == "inside"
    found = alone.call("WriteNote", "b.txt", mode, answers=True)
    assert (found["word"], found["layer"]) == ("deny", "mode")


@pytest.mark.parametrize("mode", ["acceptEdits", "auto", "bypassPermissions"])
def test_a_mode_that_does_not_exist_is_the_default_and_never_looser(alone: Alone, mode: str) -> None:
    alone.environment.settings(permissions={"defaultMode": mode})
    found = alone.call("WriteNote", alone.work / "c.txt", mode)
    assert found["modes"] == ["default", "plan", "dontAsk"]
    assert (found["word"], Path(alone.work / "c.txt").exists()) == ("deny", False)
    reason = "no installed plugin provides it. The modes here are default, plan and dontAsk."
    said = f"The mode {mode} is not used: {reason}"
    assert found["starting"] == ["default", f"{alone.environment.home}/.pegboard/settings.json: {said}"]
