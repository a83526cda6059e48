"""Background commands on a real terminal, and what is typed into them."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pegboard import Allow, Call, ToolError
from pegboard.settings import Layer, Settings
from pegboard_processes.background import LocalBackground
from pegboard_processes.service import LocalProcesses


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # The process service has tests of terminals on every event loop.


class Host:
    """The board with open services, as a session has them."""

    def __init__(self, board, ctx):
        self.board, self.ctx = board, ctx

    async def bash(self, command, **more):
        return await self.call("Bash", command=command, **more)

    async def call(self, name, **given):
        with anyio.fail_after(60):
            return await self.board.dispatch(Call("1", name, given), self.ctx)

    async def begin(self, command, shows):
        """Start a command on a terminal, and wait until it has written something."""
        result = await self.bash(command, run_in_background=True, tty=True)
        task = result.value.background_task_id
        with anyio.fail_after(60):
            while shows not in self.ctx.background.read(task).text:
                await anyio.sleep(0.01)
        return task

    def under(self, **rules):
        layer = Layer("cli", "test", {f"permissions.{kind}": found for kind, found in rules.items()})
        return Host(self.board, replace(self.ctx, settings=Settings([layer], cwd=str(self.ctx.cwd))))


@pytest.fixture
async def open_host(board):
    async with LocalProcesses() as processes, LocalBackground() as background:
        ctx = board.context()
        services = replace(ctx.services, processes=processes, background=background)
        yield Host(board, replace(ctx, services=services))


@pytest.fixture
def host(open_host, approve):
    return open_host


async def test_a_command_that_asks_is_answered(host):
    task = await host.begin("read -p 'Name? ' name; echo \"Hello $name\"; sleep 600", "Name? ")
    result = await host.bash("Ada", task_id=task, timeout=30_000)
    assert result.value.stdout.endswith("Hello Ada")
    assert f"{task} is running. TaskOutput with offset=" in result.text


async def test_an_interpreter_keeps_what_was_typed_before(host):
    task = await host.begin("python3 -q -c 'while True: print(eval(input(\"expr? \")))'", "expr? ")
    assert "42" in (await host.bash("6 * 7", task_id=task, timeout=30_000)).value.stdout
    ended = await host.bash("\u0003", task_id=task, enter=False, timeout=30_000)
    assert "KeyboardInterrupt" in ended.value.stdout
    await host.ctx.background.wait(task)
    again = await host.bash("1", task_id=task)
    assert (again.is_error, again.code) == (True, "no_match")
    assert again.text.startswith(f"{task} is not running: it is failed. No task takes input.")


async def test_the_list_and_the_output_are_for_a_model_to_read(host):
    task = await host.begin("printf '\\033[31mred\\033[0m\\n'; tty; sleep 600", "/dev/pts")
    assert "(terminal)" in (await host.call("TaskOutput")).text
    read = await host.call("TaskOutput", task_id=task)
    assert read.value.text.startswith("red\n/dev/pts/")
    assert "\x1b" not in read.text
    assert "\r" not in read.text


async def test_output_is_paged_without_cutting_an_escape(host):
    line = "\\033[1mx\\033[0m"
    await host.begin(f"printf '{line}%.0s' {{1..9000}}; echo; echo end; sleep 600", "x")
    [task] = host.ctx.background.tasks()
    with anyio.fail_after(60):
        while not host.ctx.background.read(task.id, 81_000).text.endswith("end\r\n"):
            await anyio.sleep(0.01)
    text, offset = "", 0
    while True:
        page = (await host.call("TaskOutput", task_id=task.id, offset=offset)).value
        text, before, offset = text + page.text, offset, page.next_offset
        assert len(page.text) <= 30_000
        if offset == before or offset >= page.size:
            break
    assert text == "x" * 9000 + "\nend\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tty": True}, "tty needs run_in_background: true."),
        ({"enter": False}, "enter is only for a command that is typed into a running one with task_id."),
        ({"task_id": "task-1", "tty": True}, "already running. Leave out tty."),
        ({"task_id": "task-1", "workdir": "."}, "already running. Leave out workdir."),
    ],
)
async def test_what_does_not_fit_together_is_refused(host, given, said):
    result = await host.bash("true", **given)
    assert (result.code, result.is_error) == ("invalid_input", True)
    assert said in result.text


async def test_a_line_that_no_terminal_takes_is_refused_before_it_is_sent(host):
    task = await host.begin("read x; echo got ${#x}; sleep 600", "")
    refused = await host.bash("y" * 5_000, task_id=task)
    assert "A line has 5,000 bytes; a terminal takes 4,095." in refused.text
    assert "got 3" in (await host.bash("abc", task_id=task, timeout=30_000)).value.stdout


async def test_tasks_without_a_terminal_take_no_input(host):
    missing = await host.bash("x", task_id="task-0")
    assert (missing.code, missing.text.partition(".")[0]) == ("not_found", "There is no task 'task-0'")
    plain = (await host.bash("sleep 600", run_in_background=True)).value.background_task_id
    assert (await host.bash("x", task_id=plain)).text.startswith(f"{plain} has no terminal. No task takes input.")


async def test_editors_are_refused_without_a_terminal_only(board):
    tool = board.find("Bash").tool
    given = {"command": "vim x", "run_in_background": True}
    assert "terminal" in tool.validate_input(tool.input(**given))
    assert tool.validate_input(tool.input(**given, tty=True)) is None


@pytest.mark.parametrize(
    ("typed", "rules", "kind"),
    [
        ("ls", {}, "Ask"),
        ("cat a.txt", {"allow": ["Bash(cat:*)"]}, "Ask"),
        ("git push", {"allow": ["Bash(git push:*)"]}, "Ask"),
        ("ls", {"allow": ["Bash"]}, "Allow"),
        ("rm -rf build", {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "Deny"),
        ("true; sudo id", {"allow": ["Bash"], "deny": ["Bash(sudo:*)"]}, "Deny"),
        ("cat .env", {"allow": ["Bash"], "deny": ["Read(.env)"]}, "Deny"),
        ("rm -rf /", {"allow": ["Bash"]}, "Ask"),
        ("git push", {"allow": ["Bash"], "ask": ["Bash(git push:*)"]}, "Ask"),
    ],
)
async def test_what_is_typed_is_judged_as_strictly_as_a_command(open_host, approve, typed, rules, kind):
    decision = (await open_host.under(**rules).bash(typed, task_id="task-0")).decision
    asked = isinstance(decision, Allow) and decision.layer == "ask"  # A person was asked, and approved.
    assert ("Ask" if asked else type(decision).__name__) == kind


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("echo hi\rrm -rf build", "Deny"),  # A carriage return is Enter.
        ("# \rrm build", "Deny"),
        ("x\x7frm build", "Deny"),
        ("rx\x08m build", "Deny"),
        ("echo\x15rm build", "Deny"),
        ("echo a\x17\x17rm build", "Deny"),
        ("echo 'a\x03rm build", "Deny"),
        ("echo\x0frm build", "Deny"),
        ("r\x16m build", "Deny"),
        ("\x1b[Arm build", "Deny"),
        ("m build\x01r", "Ask"),  # What the line becomes depends on the program.
        ("\x1b[A\x1b[D", "Allow"),
        ("\x03", "Allow"),
        ("lx\x7fs", "Allow"),
    ],
)
async def test_keys_do_not_hide_a_command_from_rules(open_host, approve, typed, kind):
    decision = (await open_host.under(allow=["Bash"], deny=["Bash(rm:*)"]).bash(typed, task_id="task-0")).decision
    asked = isinstance(decision, Allow) and decision.layer == "ask"
    assert ("Ask" if asked else type(decision).__name__) == kind


@pytest.mark.parametrize(
    "pieces",
    [
        [("r", False), ("m build", True)],
        [("r\\", True), ("m build", True)],
        [("rx", False), ("\x7f", False), ("m x", True)],
    ],
)
async def test_a_line_typed_in_pieces_is_judged_as_one(host, pieces):
    task = await host.begin("echo ready; cat", "ready")
    limited = host.under(allow=["Bash"], deny=["Bash(rm:*)"])
    *first, (last, enter) = pieces
    for piece, ends in first:
        assert not (await limited.bash(piece, task_id=task, enter=ends, timeout=300)).is_error
    denied = await limited.bash(last, task_id=task, enter=enter)
    assert type(denied.decision).__name__ == "Deny"
    assert not (await limited.bash("", task_id=task, timeout=300)).is_error
    if "\\" not in pieces[0][0]:
        assert not (await limited.bash("m build", task_id=task, timeout=300)).is_error


async def test_text_that_was_decided_on_before_another_was_typed_is_not_typed(host):
    task = await host.begin("echo ready; cat", "ready")
    tool = host.board.find("Bash").tool
    second = tool.input(command="m build", task_id=task)
    tool.facts(second, host.ctx)
    await host.bash("r", task_id=task, enter=False, timeout=300)
    with pytest.raises(ToolError, match="Something else was typed"):
        await tool.call(second, host.ctx)


async def test_no_rule_is_suggested_for_what_is_typed(board, open_host):
    tool = board.find("Bash").tool
    facts = tool.facts(tool.input(command="ls -l", task_id="task-0"), open_host.ctx)
    assert (facts.read_only, facts.open_world, facts.level) == (False, True, "mutating")
    assert facts.reason == "It is typed into task-0, which may run it."
    assert [part.exact for part in facts.parts] == [True]
