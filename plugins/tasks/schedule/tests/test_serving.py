"""`pegboard run --serve-schedules`, and what wakes a sleep from outside: real processes with a played model."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pegboard_schedule.durable import DurableSchedules
from pegboard_schedule.schedule import Schedule

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
TEXT = {"content": [{"type": "text", "text": "Done."}]}


def called(name: str, **given: Any) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


class Project:
    """A folder, its durable schedules, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "HOME": str(folder / "home")}
        self.env.pop("XDG_STATE_HOME", None)
        kept = DurableSchedules.of(str(folder), self.env)
        assert kept
        self.kept = kept

    def keep(self, key: str, *, due_in: timedelta, **more: Any) -> None:
        due = datetime.now(UTC) + due_in
        given = {"cron": "0 9 * * *", "prompt": "Look.", "durable": True, **more}
        self.kept.add(Schedule(id=key, due=due, **given))

    def start(self, turns: list[dict[str, Any]], *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        (self.folder / "script.jsonl").write_text("\n".join(map(json.dumps, turns)))
        command = [sys.executable, "-m", "pegboard_cli", "run", "--replay", "script.jsonl", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=self.env, stdin=stdin, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, turns: list[dict[str, Any]], *words: str) -> tuple[int, str, str]:
        with self.start(turns, "--serve-schedules", *words) as process:
            out, err = process.communicate(timeout=200)
            return process.returncode, out, err

    @contextmanager
    def served(self, turns: list[dict[str, Any]], *words: str):
        """A process that serves, once it has begun to."""
        with self.start(turns, "--serve-schedules", *words) as process:
            try:
                while not self.is_served():
                    assert process.poll() is None, process.stderr and process.stderr.read()
                    time.sleep(0.05)
                yield process
            finally:
                process.kill()

    def is_served(self) -> bool:
        try:
            with self.kept.file.with_suffix(".serving").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_what_is_due_runs_with_the_rights_of_the_session_and_then_the_process_ends(project):
    """A prompt for once that was missed runs late. It has no more rights than any other prompt, nor slash commands."""
    project.keep("00000001", due_in=timedelta(hours=-1), recurring=False, prompt="/clear")
    turns = [called("Bash", command="touch made"), TEXT]
    code, out, err = project.run(turns, "--output-format", "stream-json")
    events = [json.loads(line) for line in out.splitlines()]
    (result,) = (event for event in events if event["type"] == "result")
    assert (code, result["text"], result["turns"]) == (0, "Done.", 2), err
    assert [denial["name"] for denial in result["denials"]] == ["Bash"]
    assert not (project.folder / "made").exists()
    assert project.kept.all() == []
    (transcript,) = (project.folder / "home").rglob("transcripts/*.jsonl")
    (prompt,) = (
        line["text"] for line in map(json.loads, transcript.read_text().splitlines()) if line["type"] == "prompt"
    )
    assert prompt.startswith("Scheduled prompt 00000001 (0 9 * * *, due ")
    assert prompt.endswith(" and late):\n\n/clear")


def test_a_prompt_comes_first_and_without_schedules_the_run_is_as_always(project):
    code, out, _ = project.run([TEXT], "Hello")
    assert (code, out) == (0, "Done.\n")


def test_a_process_that_waits_is_ended_by_an_interrupt_and_lets_the_next_one_serve(project):
    project.keep("00000002", due_in=timedelta(days=1), recurring=False, cron="0 0 1 1 *")
    with project.served([TEXT]) as process:
        code, _, err = project.run([TEXT])
        assert (code, "Another process serves the schedules of this project" in err) == (1, True), err
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not project.is_served()
    assert len(project.kept.all()) == 1, "it is still kept"


REFUSED = [
    ([], "there are no schedules to serve"),
    (["--input-format", "stream-json", "--output-format", "stream-json"], "cannot be combined with --input-format"),
    (["--until-complete", "Go"], "cannot be combined with --until-complete"),
    (["--deny", "CronCreate", "Go"], "--serve-schedules needs the tool CronCreate. The rule CronCreate"),
]


@pytest.mark.parametrize(("words", "reason"), REFUSED)
def test_what_cannot_be_meant_is_refused(project, words, reason):
    code, _, err = project.run([TEXT], *words)
    assert (code, reason in err) == (2, True), err


def test_a_prompt_that_waits_ends_a_sleep(project):
    formats = ["--input-format", "stream-json", "--output-format", "stream-json"]
    with project.start([called("Sleep", seconds=3000), TEXT, TEXT], *formats, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"type": "prompt", "text": "Wait"}) + "\n")
        process.stdin.flush()
        events: list[dict[str, Any]] = []
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "call_progress":
                process.stdin.write(json.dumps({"type": "prompt", "text": "Stop waiting"}) + "\n")
                process.stdin.close()
                break
        events += [json.loads(line) for line in process.stdout]
        process.wait(timeout=60)
    (slept,) = (event for event in events if event["type"] == "call_finished")
    assert "The user has written" in slept["said"]
    assert [event["stopped_by"] for event in events if event["type"] == "result"] == ["end", "end"]


@pytest.mark.skipif(not SLOW, reason="it waits for two real minutes")
def test_a_schedule_of_the_session_runs_on_real_time(project):
    settings = project.folder / "home/.config/pegboard/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"schedule": {"maxJitterSeconds": 0}}))
    create = called("CronCreate", cron="* * * * *", prompt="Look at the clock.")
    with project.served([create, TEXT, TEXT, TEXT, TEXT], "--output-format", "stream-json", "Go") as process:
        assert process.stdout
        minutes: list[float] = []
        for line in process.stdout:
            if '"type": "result"' in line:
                minutes.append(time.time() // 60)
            if len(minutes) == 3:
                break
    assert minutes[2] > minutes[1], "the answer to the prompt, then one in each of two minutes"
