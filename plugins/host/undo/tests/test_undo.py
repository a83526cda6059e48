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

from pegboard import PegboardError
from pegboard_cli.main import main
from pegboard_session import restore as read_back
from pegboard_testing.warm import warm
from pegboard_undo.plan import make_plan
from pegboard_undo.restore import require_same

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
        self.env = {**kept, "HOME": str(warm(self.home))}

    def pegboard(self, *words: str) -> Done:
        """A command in this process: many of them in processes of their own would take minutes."""
        return Done(main(list(words)), *self._captured.readouterr())

    def session(self, *calls: tuple[str, dict[str, Any]], words: tuple[str, ...] = ()) -> str:
        """One prompt that makes these calls, one after another; returns what was said on stderr."""
        return self.answers(*([call] for call in calls), words=words)

    def answers(self, *answers: list[tuple[str, dict[str, Any]]], words: tuple[str, ...] = ()) -> str:
        """One prompt with these answers of the model, each with some calls; returns what was said on stderr."""
        turns = [
            {"content": [{"type": "tool_use", "name": name, "input": given} for name, given in calls]}
            for calls in answers
        ]
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


def test_turns_are_taken_back_one_after_another(world):
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


def test_all_turns_at_once_and_the_model_is_told(world):
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
    assert f"Nothing was restored. {world.work}/b.txt: it was changed since." in done.stderr
    assert (world.work / "a.txt").read_text() == "one\n"
    shown = world.undo("--yes")
    assert (shown["restored"], [entry["reason"] for entry in shown["refused"]]) == (False, ["it was changed since"])


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


def test_files_that_a_command_makes_without_naming_them_are_removed(world):
    (world.work / "kept.txt").write_text("kept\n")
    (world.work / "make.sh").write_text("mkdir -p out/deep; for n in 1 2 3; do echo $n > out/deep/$n.txt; done\n")
    world.session(bash("sh make.sh"))
    assert len(list(world.work.glob("out/deep/*.txt"))) == 3
    shown = world.undo("--yes")
    assert {entry["action"] for entry in shown["files"]} == {"remove"}
    assert shown["uncovered"] == []
    assert [path.name for path in world.work.rglob("*.txt")] == ["kept.txt"]


def test_an_unknown_file_that_a_command_changes_is_named_as_not_covered(world):
    (world.work / "mine.txt").write_text("mine\n")
    (world.work / "change.sh").write_text("echo x >> mine.txt; echo new > new.txt\n")
    said = world.session(bash("sh change.sh"))
    why = f"it changed or removed {world.work}/mine.txt, which git does not track and the session had not read."
    assert f"pegboard undo does not cover all that the command did: {why}" in said
    shown = world.undo("--yes")
    assert (shown["restored"], shown["uncovered"]) == (True, [{"turn": 1, "reason": why}])
    assert (world.work / "mine.txt").read_text() == "mine\nx\n"
    assert not (world.work / "new.txt").exists()


def test_a_folder_with_too_many_files_is_said(world, monkeypatch):
    monkeypatch.setattr("pegboard_undo.checkpoint.list_files", lambda *_: None)
    (world.work / "make.sh").write_text("echo new > new.txt\n")
    said = world.session(bash("sh make.sh"), bash("echo x > named.txt"))
    why = f"{world.work} has too many files to see which ones it made."
    assert said.count(why) == 1, "it is said once"
    shown = world.undo("--yes")
    assert shown["uncovered"] == [{"turn": 1, "reason": why}]
    assert [Path(entry["path"]).name for entry in shown["files"]] == ["named.txt"]


def test_what_a_command_does_in_the_background_is_taken_back(world):
    (world.work / "tracked.txt").write_text("before\n")
    world.commit()
    (world.work / "later.sh").write_text(
        "echo begun > begun.txt; until [ -e go ]; do sleep 0.05; done; echo x > tracked.txt; echo new > late.txt\n"
    )
    wait = "until [ -e begun.txt ]; do sleep 0.05; done; echo mine > other.txt; touch go"
    wait += "; until [ -e late.txt ]; do sleep 0.05; done"
    background = ("Bash", {"command": "sh later.sh", "run_in_background": True})
    world.session(background, write("tool.txt", "by a tool\n"), bash(wait))
    shown = world.undo()
    actions = {Path(entry["path"]).name: entry["action"] for entry in shown["files"]}
    made = dict.fromkeys(("begun.txt", "go", "late.txt", "other.txt", "tool.txt"), "remove")
    assert (actions, shown["refused"]) == ({"tracked.txt": "restore", **made}, [])
    world.undo("--yes")
    assert (world.work / "tracked.txt").read_text() == "before\n"
    assert sorted(path.name for path in world.work.iterdir()) == [".git", "later.sh", "tracked.txt"]


def test_what_code_in_a_repl_does_is_taken_back_call_by_call(world):
    (world.work / "tracked.txt").write_text("before\n")
    world.commit()
    allow = ("--allow", "REPL(python)")
    world.session(("REPL", {"language": "python", "code": "open('new.txt', 'w').write('1')"}), words=allow)
    second = {"language": "python", "code": "open('tracked.txt', 'w').write('2')"}
    first = {"language": "python", "code": "1"}
    world.session(("REPL", first), ("REPL", second), words=(*allow, "--continue"))
    world.undo("--yes")
    assert (world.work / "tracked.txt").read_text() == "before\n"
    assert (world.work / "new.txt").exists()


def test_a_command_that_the_end_of_the_session_stops_is_covered(world):
    (world.work / "later.sh").write_text("echo new > late.txt; sleep 600\n")
    background = ("Bash", {"command": "sh later.sh", "run_in_background": True})
    world.session(background, bash("until [ -e late.txt ]; do sleep 0.05; done; true > /dev/null"))
    assert "remove" in world.pegboard("undo").stdout
    world.undo("--yes")
    assert not (world.work / "late.txt").exists()


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
    assert "pegboard undo will not cover what this command changes: a checkpoint would take more than 1 ms." in said
    assert world.undo()["uncovered"] == [{"turn": 1, "reason": "a checkpoint would take more than 1 ms."}]
    assert "not covered, turn 1: a command" in world.pegboard("undo").stdout


def test_a_change_between_two_turns_is_not_lost(world):
    world.session(write("a.txt", "one\n"))
    (world.work / "a.txt").write_text("mine\n")
    world.session(READ, write("a.txt", "two\n"), words=("--continue",))
    assert world.undo("--to", "1")["refused"][0]["reason"] == "something else changed it between two turns"
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
    assert listed.stdout.splitlines()[-1] == "To restore 1 file, write /undo 1 yes."
    done = world.pegboard("run", "/undo 1 yes", "--continue", "--replay", str(world.home / "script.jsonl"))
    assert done.stdout == f"Restored 1 file: {world.work}/a.txt.\n"
    assert not (world.work / "a.txt").exists()
    wrong = world.pegboard("run", "/undo all", "--continue", "--replay", str(world.home / "script.jsonl"))
    assert wrong.stdout.startswith("Write /undo for the last turn, or /undo TURN")


def test_changes_that_overlap_are_all_undone(world: World) -> None:
    names = [f"{number}.txt" for number in range(12)]
    for name in names:
        (world.work / name).write_text("before\n")
    read = [("Read", {"file_path": name}) for name in names]
    edit = [("Edit", {"file_path": name, "old_string": "before", "new_string": f"in {name}"}) for name in names]
    made = [("Write", {"file_path": f"new/{name}", "content": "new\n"}) for name in names]
    world.answers(read, [*edit, *made])
    assert [(world.work / name).read_text() for name in names] == [f"in {name}\n" for name in names]
    assert len(list((world.work / "new").iterdir())) == 12
    world.undo("--yes")
    assert [(world.work / name).read_text() for name in names] == ["before\n"] * 12
    assert not list(world.work.glob("new/*"))


def journal_of(world: World) -> Path:
    [transcript] = (world.home / ".local/state/pegboard/transcripts").glob("*.jsonl")
    return transcript


def test_a_damaged_copy_is_not_restored(world):
    (world.work / "a.txt").write_text("old\n")
    world.session(READ, write("a.txt", "new\n"))
    for copy in (world.home / ".local/state/pegboard/undo").iterdir():
        copy.write_text("something else\n")
    done = world.pegboard("undo", "--yes")
    assert done.returncode == 1
    assert "a.txt: the copy of its earlier content is damaged." in done.stderr
    assert (world.work / "a.txt").read_text() == "new\n"


def test_a_folder_that_has_become_a_link_is_not_followed(world):
    world.session(write("sub/a.txt", "new\n"))
    elsewhere = world.home / "elsewhere"
    (world.work / "sub").rename(elsewhere)
    (world.work / "sub").symlink_to(elsewhere)
    done = world.pegboard("undo", "--yes")
    assert done.returncode == 1
    assert "sub/a.txt: a folder on the way to it has become a link." in done.stderr
    assert (elsewhere / "a.txt").read_text() == "new\n"


def test_a_pipe_in_the_place_of_a_file_is_not_read(world):
    world.session(write("a.txt", "new\n"))
    (world.work / "a.txt").unlink()
    os.mkfifo(world.work / "a.txt")
    shown = world.undo()
    assert [(entry["path"], entry["diff"]) for entry in shown["files"]] == [(f"{world.work}/a.txt", "")]
    assert [entry["reason"] for entry in shown["refused"]] == ["it was changed since"]


def test_a_folder_that_a_command_names_does_not_stand_against_undo(world):
    (world.work / "sub").mkdir()
    (world.work / "sub/a.txt").write_text("old\n")
    world.session(("Read", {"file_path": "sub/a.txt"}), bash("rm -r sub"))
    assert world.undo("--yes")["restored"] is True
    assert (world.work / "sub/a.txt").read_text() == "old\n"


def test_a_private_file_that_a_command_replaced_is_private_again(world):
    (world.work / "a.txt").write_text("old\n")
    (world.work / "a.txt").chmod(0o600)
    world.session(READ, bash("rm a.txt; echo new > a.txt; chmod 644 a.txt"))
    assert world.undo("--yes")["restored"] is True
    assert (world.work / "a.txt").read_text() == "old\n"
    assert (world.work / "a.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        {"type": "file_changed"},
        {"type": "file_changed", "turn": "1", "path": "/a", "before": "", "after": "", "stored": None, "mode": 0},
        {"type": "file_changed", "turn": 1, "path": "a", "before": "", "after": "", "stored": None, "mode": 0},
        {"type": "file_changed", "turn": 1, "path": "/a\0b", "before": "", "after": "", "stored": None, "mode": 0},
        {"type": "not_covered", "turn": 1},
        {"type": "undone", "to": None},
    ],
)
def test_a_damaged_journal_is_named_and_nothing_is_restored(line):
    with pytest.raises(PegboardError, match=r"transcript of this session is damaged: a line of the type \w+ has "):
        make_plan([line])


def test_a_journal_cannot_bring_in_the_content_of_another_file(world):
    world.session(write("a.txt", "new\n"))
    secret = world.home / "secret"
    secret.write_text("secret\n")
    forged = {"path": f"{world.work}/b.txt", "before": "b", "after": "", "stored": str(secret), "mode": 0o644}
    with journal_of(world).open("a") as file:
        file.write(json.dumps({"type": "file_changed", "turn": 1, "by": "tool", **forged}) + "\n")
    done = world.pegboard("undo", "--yes")
    assert done.returncode == 1
    assert "secret" not in done.stdout
    assert not (world.work / "b.txt").exists()


def test_more_changes_than_the_person_has_seen_are_not_forgotten(world):
    world.session(write("a.txt", "one\n"))
    plan = make_plan(read_back(journal_of(world)).lines)
    world.session(write("b.txt", "two\n"), words=("--continue",))
    with pytest.raises(PegboardError, match="there were more changes meanwhile"):
        require_same(plan, read_back(journal_of(world)).lines)
