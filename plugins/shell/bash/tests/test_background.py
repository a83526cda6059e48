"""Commands in the background: started, read, stopped, announced, and never left behind."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import Call, Turn
from pegboard.settings import Layer, Settings
from pegboard_processes.background import LocalBackground
from pegboard_processes.service import LocalProcesses
from pegboard_session import ReplayProvider, Session


class Host:
    """The board with open services, as a session has them."""

    def __init__(self, board, ctx):
        self.board, self.ctx = board, ctx

    async def bash(self, command, **more):
        return await self.board.dispatch(Call("1", "Bash", {"command": command, **more}), self.ctx)

    async def ended(self, result):
        with anyio.fail_after(20):
            return await self.ctx.background.wait(result.value.background_task_id)


@pytest.fixture
async def host(board, approve):
    async with LocalProcesses() as processes, LocalBackground() as background:
        ctx = board.context()
        services = replace(ctx.services, processes=processes, background=background)
        yield Host(board, replace(ctx, services=services))


def going_on(host):
    layer = Layer("cli", "test", {"bash.onTimeout": "background"})
    return Host(host.board, replace(host.ctx, settings=Settings([layer], cwd=str(host.ctx.cwd))))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except OSError:
        return True


async def pid_in(path: Path) -> int:
    with anyio.fail_after(20):
        while not (path.exists() and path.read_text().endswith("\n")):
            await anyio.sleep(0.01)
    return int(path.read_text())


async def test_a_background_command_returns_at_once_with_its_task_and_file(host):
    result = await host.bash("echo started; sleep 60", run_in_background=True)
    task, path = result.value.background_task_id, result.value.persisted_output_path
    assert result.text.startswith(f"It runs in the background as {task}. Its output is in {path}.")
    assert host.ctx.background.get(task).state == "running"


async def test_a_background_command_that_ends_is_done_and_keeps_its_output(host):
    result = await host.bash("echo one; echo two >&2", run_in_background=True)
    task = await host.ended(result)
    assert (task.state, task.value, task.output.read_text()) == ("done", "It exited with code 0.", "one\ntwo\n")


async def test_a_background_command_that_fails_says_how(host):
    task = await host.ended(await host.bash("exit 3", run_in_background=True))
    assert (task.state, task.error) == ("failed", "It exited with code 3.")


async def test_an_answer_by_exit_code_is_no_failure_in_the_background(host):
    task = await host.ended(await host.bash("grep x /dev/null", run_in_background=True))
    assert (task.state, task.value) == ("done", "It exited with code 1: no line matched.")


async def test_a_background_command_does_not_move_the_session(host):
    (host.ctx.cwd / "sub").mkdir()
    assert (await host.bash("cd sub; sleep 60", run_in_background=True)).change is None


async def test_even_reading_in_the_background_is_no_plain_reading(board, host):
    tool = board.find("Bash").tool
    args = tool.input(command="cat a.txt", run_in_background=True)
    assert not tool.facts(args, host.ctx).read_only


async def test_stopping_ends_the_whole_tree(host):
    result = await host.bash("setsid sleep 60 & echo $! > pid; wait", run_in_background=True)
    pid = await pid_in(host.ctx.cwd / "pid")
    task = await host.ctx.background.stop(result.value.background_task_id)
    assert (task.state, alive(pid)) == ("stopped", False)


async def test_nothing_outlives_the_session(board, approve):
    folder = board.context().cwd
    use = {"type": "tool_use", "name": "Bash"}
    wait = {"command": "until [ -s pid ]; do sleep 0.01; done"}
    script = [
        {"content": [{**use, "input": {"command": "sleep 60 & echo $! > pid; wait", "run_in_background": True}}]},
        {"content": [{**use, "input": wait}]},
        {"content": [{"type": "text", "text": "Done."}]},
    ]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
        pid = await pid_in(folder / "pid")
        assert alive(pid)
    assert not alive(pid)


async def test_the_end_of_a_background_command_is_announced_once(board, approve):
    def use(name, **given):
        return {"content": [{"type": "tool_use", "name": name, "input": given}]}

    script = [
        use("Bash", command="until [ -e go ]; do sleep 0.01; done; exit 4", run_in_background=True),
        use("Bash", command="touch go"),
        {"content": [{"type": "text", "text": "Started."}]},
        {"content": [{"type": "text", "text": "I see."}]},
        {"content": [{"type": "text", "text": "Bye."}]},
    ]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
        [task] = session.ctx.background.tasks()
        with anyio.fail_after(20):
            await session.ctx.background.wait(task.id)
        await session.run("And?")
        await session.run("And now?")
    said = [block["text"] for message in session.messages for block in message["content"] if "text" in block]
    news = [text for text in said if text.startswith("The background task")]
    assert [text.partition(") ")[2] for text in news] == ["has failed: it exited with code 4."]


async def test_a_host_without_background_says_so(board, ctx, approve):
    result = await board.dispatch(Call("1", "Bash", {"command": "true", "run_in_background": True}), ctx)
    assert (result.code, result.text) == ("unsupported", "This host does not provide background work to tools.")


async def test_by_policy_a_command_goes_on_after_its_time(host):
    patient = going_on(host)
    command = "echo begun; until [ -e go ]; do sleep 0.01; done; echo ended"
    result = await patient.bash(command, timeout=300)
    assert result.text.startswith("It did not finish in 0.3 s and continues in the background as task-")
    assert result.value.timed_out_after_ms == 300
    (host.ctx.cwd / "go").touch()
    task = await host.ended(result)
    assert (task.state, task.output.read_text()) == ("done", "begun\nended\n")


async def test_a_command_that_goes_on_says_nothing_of_being_followed(host):
    result = await going_on(host).bash("cd .; until [ -e go ]; do sleep 0.01; done", timeout=200)
    (host.ctx.cwd / "go").touch()
    task = await host.ended(result)
    assert (task.state, task.output.read_text()) == ("done", "")


@pytest.mark.parametrize("command", ["sleep 30", "until [ -e go ]; do sleep 0.1; done; git status"])
async def test_sleep_and_git_are_ended_all_the_same(host, command):
    assert (await going_on(host).bash(command, timeout=200)).code == "timeout"


async def test_what_ends_in_time_never_becomes_a_task(host):
    patient = going_on(host)
    result = await patient.bash("setsid sleep 60 & echo $! > pid")
    assert (result.is_error, list(host.ctx.background.tasks())) == (False, [])
    assert not alive(int((host.ctx.cwd / "pid").read_text()))


async def test_cancelling_the_wait_ends_the_command(host):
    patient = going_on(host)
    async with anyio.create_task_group() as group:
        group.start_soon(patient.bash, "echo $$ > pid; exec sleep 60")
        pid = await pid_in(host.ctx.cwd / "pid")
        group.cancel_scope.cancel()
    assert not alive(pid)


async def test_a_command_that_is_stopped_keeps_the_output_it_had(host):
    with anyio.fail_after(20):
        async with Turn(host.ctx, host.board) as turn:
            turn.add(Call("1", "Bash", {"command": "echo half; echo $$ > pid; exec sleep 60"}))
            turn.end()
            pid = await pid_in(host.ctx.cwd / "pid")
            await anyio.sleep(0.3)
            turn.cancel()
            results = [result async for result in turn.results()]
    assert results[0].text == "Bash was cancelled by the user.\nIts output until then:\nhalf"
    assert results[0].code == "cancelled"
    assert not alive(pid)
