"""Monitor in real sessions with real commands: events, ends, permission, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Allow, Board, Call, Deny, Question, Result, hookimpl
from pegboard_session import ReplayProvider, Session

MEGABYTES = 100 if os.environ.get("PEGBOARD_TEST_SLOW") == "1" else 10


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the sessions."""
    return "asyncio"


class Watched:
    """A session whose monitors are called by hand, and what they have announced."""

    def __init__(self, session: Session, board: Board) -> None:
        self.session, self.board, self.news = session, board, list[str]()

    async def call(self, name: str, **given: Any) -> Result:
        return await self.board.dispatch(Call("1", name, given), self.session.ctx)

    async def start(self, command: str, **given: Any) -> str:
        result = await self.call("Monitor", command=command, **given)
        assert not result.is_error, result.text
        return str(result.value.task_id)

    async def end_of(self, task: str) -> str:
        """All that was told, as the model would read it, once the monitor is over."""
        with anyio.fail_after(120):
            await self.session.ctx.background.wait(task)
        return self.told()

    def told(self) -> str:
        self.news += [block["text"] for block in self.session.conversation.take_news("results")]
        return "\n".join(self.news)


@asynccontextmanager
async def watching(folder: Path, *plugins: Any, **settings: Any) -> AsyncIterator[Watched]:
    rules = {"permissions": {"allow": ["Bash", "TaskStop"]}, "monitor": {"secondsBetween": 0.01}}
    env = {**os.environ, "HOME": f"{folder}-home"}
    board = Board.load(cwd=folder, plugins=plugins, settings={**rules, **settings}, env=env)
    async with Session(board, ReplayProvider([]), model="m") as session:
        yield Watched(session, board)


async def until(condition: Any) -> None:
    with anyio.fail_after(120):
        while not condition():
            await anyio.sleep(0.05)


async def test_lines_that_match_are_told_and_the_end_is_too(tmp_path):
    async with watching(tmp_path) as watched:
        task = await watched.start("printf 'one\\nerror: two\\nthree\\nerror: four'; exit 3", pattern="^error")
        told = await watched.end_of(task)
        assert "<untrusted-command-output>\nerror: two" in told
        assert "error: four\n</untrusted-command-output>" in told
        assert f"Monitor {task} " in told
        assert "is over, after 2 events: it was ended by the end of the command." in told
        assert "it exited with code 3" in told
        assert "\nthree" not in told


async def test_a_watched_command_runs_in_the_sandbox(tmp_path):
    from pegboard_sandbox import bubblewrap

    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    project, outside = tmp_path / "project", Path.home() / f".pegboard-monitor-{os.getpid()}"
    project.mkdir()
    async with watching(project, sandbox={"enabled": True}) as watched:
        task = await watched.start(f"echo yes > inside.txt; echo no > {outside}; echo over")
        told = await watched.end_of(task)
    assert "over" in told
    assert (project / "inside.txt").read_text() == "yes\n"
    assert not outside.exists()


ENDS = [
    ({"until": "ready"}, "ended by the line that it waited for"),
    ({"max_events": 3}, "after 3 events: it was ended by the limit of 3 events"),
    ({"timeout_ms": 300}, "ended by its time of 0.3 s"),
]


@pytest.mark.parametrize(("given", "words"), ENDS)
async def test_each_end_ends_the_command(tmp_path, given, words):
    command = "echo $$ > pid; for i in 1 2; do echo $i; done; echo ready; exec sleep 1000"
    async with watching(tmp_path) as watched:
        told = await watched.end_of(await watched.start(command, **given))
        assert words in told
        pid = int((tmp_path / "pid").read_text())
        await until(lambda: not is_alive(pid))
        assert all(row.state != "running" for row in watched.session.ctx.background.tasks())


async def test_it_is_listed_read_and_stopped_with_the_tools_for_background_tasks(tmp_path):
    async with watching(tmp_path) as watched:
        task = await watched.start("echo $$ > pid; echo begun; exec sleep 1000", description="the server")
        await until(lambda: "begun" in watched.told())
        assert f"{task}  running  Monitor: the server" in (await watched.call("TaskOutput")).text
        assert "begun" in (await watched.call("TaskOutput", task_id=task)).text
        assert (await watched.call("TaskStop", task_id=task)).text == f"{task} (Monitor: the server) is stopped."
        pid = int((tmp_path / "pid").read_text())
        await until(lambda: not is_alive(pid))


async def test_a_command_that_is_killed_ends_its_monitor(tmp_path):
    async with watching(tmp_path) as watched:
        task = await watched.start("echo $$ > pid; echo begun; exec sleep 1000", persistent=True)
        await until(lambda: "begun" in watched.told())
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        told = await watched.end_of(task)
        assert "ended by the end of the command" in told
        assert "SIGKILL" in told


async def test_the_end_of_the_session_leaves_nothing_behind(tmp_path):
    async with watching(tmp_path) as watched:
        await watched.start("echo $$ > pid; sleep 1000 & echo $! > child; wait", persistent=True)
        await until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    pids = [int((tmp_path / name).read_text()) for name in ("pid", "child")]
    await until(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_log_that_grows_by_many_megabytes(tmp_path):
    """Every line is looked at, the model reads few, and the session goes on meanwhile."""
    log = tmp_path / "log"
    log.write_text("")
    line = "INFO nothing to see here, " + "x" * 72 + "\n"
    async with watching(tmp_path) as watched:
        task = await watched.start(
            "exec tail -n +1 -f log", pattern="ERROR|nothing", until="THE END", timeout_ms=600_000
        )
        beats, piece = 0, line * 10_000
        with log.open("a") as file:
            for number in range(MEGABYTES):
                file.write(piece)
                file.write(f"ERROR number {number}\n")
                file.flush()
                await anyio.sleep(0)
                beats += 1
            file.write("THE END\n")
        with anyio.fail_after(280):
            await watched.session.ctx.background.wait(task)
        told = watched.told()
        count = MEGABYTES * 10_001 + 1
        assert f"is over, after {count} events: it was ended by the line that it waited for." in told
        assert len(told) < 100_000
        assert beats == MEGABYTES


async def test_lines_that_no_one_has_read_yet_are_gathered(tmp_path):
    """One message waits at a time, however much is written."""
    async with watching(tmp_path, monitor={"secondsBetween": 0.01, "linesPerEvent": 3}) as watched:
        command = "for i in $(seq 100); do echo line $i; sleep 0.02; done"
        with anyio.fail_after(120):
            await watched.session.ctx.background.wait(await watched.start(command))
        told = watched.told()
    messages = [text for text in watched.news if "untrusted-command-output" in text]
    assert len(messages) == 2, "the first, which waited, and the end"
    assert "not shown. TaskOutput reads all output." in told
    assert "after 100 events" in told


class Person:
    """Answers every question in the same way, and remembers it."""

    def __init__(self, *, agrees: bool) -> None:
        self.agrees, self.asked = agrees, list[str]()

    @hookimpl
    def ask_user(self, question: Question) -> Allow | Deny:
        self.asked.append(f"{question.call.name}: {question.description}")
        return Allow("Yes.", layer="ask") if self.agrees else Deny("No.")


@pytest.mark.parametrize("agrees", [True, False])
async def test_the_person_is_asked_as_for_bash(tmp_path, agrees):
    person = Person(agrees=agrees)
    async with watching(tmp_path, person, permissions={}) as watched:
        result = await watched.call("Monitor", command="touch made")
        assert person.asked == ["Bash: Run in the background: touch made"]
        assert result.is_error is not agrees
        if agrees:
            await watched.end_of(result.value.task_id)
    assert (tmp_path / "made").exists() is agrees


DENIED = [
    ({"deny": ["Bash(touch:*)"], "allow": ["Bash", "Monitor"]}, "touch made"),
    ({"deny": ["Bash(touch:*)"], "allow": ["Bash", "Monitor"]}, "true && env touch made"),
    ({"deny": ["Bash"], "allow": ["Monitor"]}, "touch made"),
    ({"deny": ["Monitor"], "allow": ["Bash"]}, "touch made"),
    ({"deny": ["Monitor(touch:*)"], "allow": ["Bash"]}, "touch made"),
    ({"deny": ["Edit(made)"], "allow": ["Bash", "Monitor"]}, "touch made"),
    ({"deny": ["Monitor(touch:*)"], "allow": ["Bash"]}, "true && touch made"),
    ({"deny": ["Monitor(touch:*)"], "allow": ["Bash"]}, "true; env touch made"),
    ({"allow": ["Monitor"]}, "touch made"),
]


@pytest.mark.parametrize(("rules", "command"), DENIED)
async def test_what_is_denied_to_bash_is_denied_to_monitor(tmp_path, rules, command):
    async with watching(tmp_path, permissions=rules) as watched:
        result = await watched.call("Monitor", command=command)
        assert result.is_error
        assert not watched.session.ctx.background.tasks()
    assert not (tmp_path / "made").exists()


async def test_in_plan_mode_nothing_is_started(tmp_path):
    async with watching(tmp_path) as watched:
        watched.session.set_mode("plan")
        assert (await watched.call("Monitor", command="touch made")).is_error
    assert not (tmp_path / "made").exists()


BAD = [
    ({"command": " "}, "command is empty"),
    ({"command": "x", "pattern": "("}, "pattern '(' is not a regular expression of RE2: missing )"),
    ({"command": "x", "until": "(?=a)"}, "until '(?=a)' is not a regular expression of RE2"),
    ({"command": "x", "persistent": True, "timeout_ms": 5}, "persistent and timeout_ms exclude each other"),
    ({"command": "x", "timeout_ms": 3_600_001}, "timeout_ms is 3600001, and at most 3600000 are allowed"),
    ({"command": "x", "timeout_ms": 0}, "timeout_ms"),
    ({"command": "x", "max_events": 0}, "max_events"),
    ({"command": "x", "pattern": "y" * 1_001}, "pattern"),
    ({}, "command"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
async def test_bad_input_gets_the_documented_error_and_nothing_is_started(tmp_path, given, words):
    async with watching(tmp_path) as watched:
        result = await watched.call("Monitor", **given)
        assert (result.is_error, words in result.text) == (True, True), result.text
        assert not watched.session.ctx.background.tasks()


async def test_too_many_are_refused(tmp_path):
    async with watching(tmp_path, monitor={"most": 1}) as watched:
        task = await watched.start("exec sleep 1000")
        result = await watched.call("Monitor", command="exec sleep 1000")
        assert result.text == (
            f"1 monitor run already, and at most 1 may (setting monitor.most). Stop one with TaskStop first: {task}."
        )
        assert len(watched.session.ctx.background.tasks()) == 2, "the command and its monitor"


async def test_a_summary_says_which_monitors_run(tmp_path):
    board = Board.load(cwd=tmp_path, settings={"permissions": {"allow": ["Bash"]}})
    call = {"type": "tool_use", "name": "Monitor", "input": {"command": "exec sleep 1000", "description": "the log"}}
    text = {"content": [{"type": "text", "text": "<summary>We watch.</summary>"}]}
    async with Session(board, ReplayProvider([{"content": [call]}, text, text]), model="m") as session:
        await session.run("Watch")
        await session.compact()
        assert "These monitors are running:" in json.dumps(session.messages)
        assert "Monitor: the log" in json.dumps(session.messages)


async def test_a_host_without_sessions_says_so(tmp_path):
    board = Board.load(cwd=tmp_path, settings={"permissions": {"allow": ["Bash"]}})
    assert (await board.dispatch(Call("1", "Monitor", {"command": "true"}))).code == "unsupported"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
