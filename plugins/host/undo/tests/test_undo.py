"""Undo with real sessions, real commands and real repositories."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pegboard_cli.main import main

pytestmark = pytest.mark.timeout(180)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class World:
    """A project and a home, and commands in them."""

    def __init__(self, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("PEGBOARD", "XDG", "GIT_"))}
        self.env = {**kept, "HOME": str(self.home)}

    def pegboard(self, *words: str) -> Done:
        """A command in this process: many of them in processes of their own would take minutes."""
        return Done(main(list(words)), *self._captured.readouterr())

    def session(self, *calls: tuple[str, dict[str, Any]], words: tuple[str, ...] = ()) -> str:
        """One prompt that makes these calls, one after another; returns what was said on stderr."""
        turns = [{"content": [{"type": "tool_use", "name": name, "input": given}]} for name, given in calls]
        turns.append({"content": [{"type": "text", "text": "Done."}]})
        script = self.home / "script.jsonl"
        script.write_text("\n".join(map(json.dumps, turns)))
        allow = ("--allow", "Bash", "--allow", "Write", "--allow", "Edit")
        done = self.pegboard("run", "Go", "--replay", str(script), *allow, *words)
        assert done.returncode == 0, done.stderr
        assert "denied" not in done.stderr, done.stderr
        assert "failed" not in done.stderr, done.stderr
        return done.stderr

    def undo(self, *words: str) -> dict[str, Any]:
        done = self.pegboard("undo", "--json", *words)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=self.work, env=self.env, check=True, capture_output=True)

    def commit(self) -> None:
        """A repository in which everything is committed, with an index that is younger than the files."""
        for path in self.work.rglob("*"):
            os.utime(path, (1_700_000_000, 1_700_000_000))
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "first")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> World:
    made = World(tmp_path, capfd)
    for name in set(os.environ) - set(made.env):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.work)
    return made


READ = ("Read", {"file_path": "a.txt"})


def write(name: str, text: str) -> tuple[str, dict[str, Any]]:
    return "Write", {"file_path": name, "content": text}


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command}


def test_prompts_are_undone_one_after_another(world):
    world.session(write("a.txt", "one\n"))
    world.session(READ, write("a.txt", "two\n"), write("b.txt", "new\n"), words=("--continue",))
    listed = world.pegboard("undo")
    assert listed.returncode == 3, "nobody could be asked"
    assert f"restore {world.work}/a.txt\n  --- now\n  +++ restored\n  @@ -1 +1 @@\n  -two\n  +one\n" in listed.stdout
    assert f"remove {world.work}/b.txt" in listed.stdout
    assert "Add --yes" in listed.stderr
    assert (world.work / "a.txt").read_text() == "two\n"
    done = world.pegboard("undo", "--yes")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Restored 2 files.")
    assert (world.work / "a.txt").read_text() == "one\n"
    assert not (world.work / "b.txt").exists()
    assert world.undo("--yes")["to"] == 1
    assert not (world.work / "a.txt").exists()
    assert world.pegboard("undo").stdout == "There is nothing to undo.\n"


def test_all_prompts_at_once_and_the_model_is_told(world):
    world.session(write("a.txt", "one\n"))
    world.session(READ, write("a.txt", "two\n"), words=("--continue",))
    assert world.undo("--to", "1", "--yes")["restored"] is True
    assert not (world.work / "a.txt").exists()
    world.session(words=("--continue",))
    [transcript] = (world.home / ".local/state/pegboard/transcripts").glob("*.jsonl")
    told = [line for line in transcript.read_text().splitlines() if '"user"' in line and "has undone" in line]
    assert len(told) == 1


def test_a_file_that_was_changed_since_is_named_and_nothing_is_restored(world):
    world.session(write("a.txt", "one\n"), write("b.txt", "one\n"))
    (world.work / "b.txt").write_text("mine\n")
    done = world.pegboard("undo", "--yes")
    assert done.returncode == 1
    assert f"Nothing was restored. {world.work}/b.txt: it has changed since then." in done.stderr
    assert (world.work / "a.txt").read_text() == "one\n"
    shown = world.undo("--yes")
    assert shown["restored"] is False
    assert [entry["reason"] for entry in shown["refused"]] == ["it has changed since then"]


def test_what_a_command_did_to_tracked_and_touched_files_is_taken_back(world):
    for name in ("tracked.txt", "deleted.txt", "same.txt"):
        (world.work / name).write_text(f"{name}\n")
    (world.work / "deleted.txt").chmod(0o754)
    world.commit()
    (world.work / "untracked.txt").write_text("seen\n")
    change = "echo x >> tracked.txt; rm deleted.txt; echo x > untracked.txt; echo new > made.txt"
    world.session(("Read", {"file_path": "untracked.txt"}), bash(change))
    shown = world.undo("--yes")
    assert {Path(entry["path"]).name: entry["action"] for entry in shown["files"]} == {
        "tracked.txt": "restore",
        "deleted.txt": "create again",
        "untracked.txt": "restore",
        "made.txt": "remove",
    }
    assert (world.work / "tracked.txt").read_text() == "tracked.txt\n"
    assert (world.work / "deleted.txt").stat().st_mode & 0o777 == 0o754
    assert (world.work / "untracked.txt").read_text() == "seen\n"
    assert sorted(path.name for path in world.work.glob("*.txt")) == sorted(
        ["tracked.txt", "deleted.txt", "same.txt", "untracked.txt"]
    )


def test_a_command_that_only_reads_takes_no_checkpoint(world):
    (world.work / "a.txt").write_text("a\n")
    world.session(READ, bash("cat a.txt"))
    assert not (world.home / ".local/state/pegboard/undo").exists()


def test_a_checkpoint_that_takes_too_long_is_given_up_and_said(world):
    for number in range(300):
        (world.work / f"{number}.txt").write_text(f"{number}\n")
    world.git("init", "-q")
    world.git("add", ".")
    for number in range(300):
        (world.work / f"{number}.txt").write_text(f"changed {number}\n")
    settings = world.home / ".pegboard/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"undo": {"checkpointMs": 1}}')
    said = world.session(bash("echo x > 7.txt"))
    assert "pegboard undo does not cover what this command changes: a checkpoint would take more than 1 ms." in said
    assert world.undo()["uncovered"] == [{"prompt": 1, "reason": "a checkpoint would take more than 1 ms."}]
    assert "not covered in prompt 1: a command" in world.pegboard("undo").stdout


def test_a_change_between_two_prompts_is_not_lost(world):
    world.session(write("a.txt", "one\n"))
    (world.work / "a.txt").write_text("mine\n")
    world.session(READ, write("a.txt", "two\n"), words=("--continue",))
    assert world.undo("--to", "1")["refused"][0]["reason"] == "something else changed it between two prompts"
    assert world.undo("--yes")["restored"] is True
    assert (world.work / "a.txt").read_text() == "mine\n"


def test_the_command_asks_on_a_terminal(world):
    world.session(write("a.txt", "one\n"))
    leader, follower = pty.openpty()
    os.write(leader, b"y\n")
    command = [sys.executable, "-m", "pegboard_cli", "undo"]
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    done = subprocess.run(command, cwd=world.work, env=world.env, check=False, **streams)
    os.close(follower)
    shown = os.read(leader, 65_536).decode()
    os.close(leader)
    assert (done.returncode, "Restore these files? [y/N]" in shown, "Restored 1 file." in shown) == (0, True, True)
    assert not (world.work / "a.txt").exists()


def test_a_slash_command_does_the_same_in_a_prompt(world):
    world.session(write("a.txt", "one\n"))
    listed = world.pegboard("run", "/undo", "--continue", "--replay", str(world.home / "script.jsonl"))
    assert listed.stdout.splitlines()[-1] == "To restore 1 file, type /undo 1 yes."
    done = world.pegboard("run", "/undo 1 yes", "--continue", "--replay", str(world.home / "script.jsonl"))
    assert done.stdout == f"Restored 1 file: {world.work}/a.txt.\n"
    assert not (world.work / "a.txt").exists()
    wrong = world.pegboard("run", "/undo all", "--continue", "--replay", str(world.home / "script.jsonl"))
    assert wrong.stdout.startswith("Type /undo to list what")
