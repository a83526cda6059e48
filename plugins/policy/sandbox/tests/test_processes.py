"""What a sandboxed process sees of the host, and what is left of it."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import anyio
import pytest

import pegboard_processes
import pegboard_sandbox
from pegboard import Allow, Board, Call, Context, Input, ProcessSpec, Tool, ToolError, hookimpl
from pegboard.settings import Settings
from pegboard_sandbox import bubblewrap, hooks, mechanism


async def test_the_environment_is_cleared_to_a_list(box):
    box.env = {"ACME_API_KEY": box.key, "SSH_AUTH_SOCK": "/run/agent", "EXTRA": "1", "CI_JOB": "7", "LANG": "C"}
    names = {line.partition("=")[0] for line in (await box.sh("env", keepEnv=["CI_*"])).splitlines()}
    assert {"PATH", "HOME", "LANG", "TMPDIR", "CI_JOB", "PEGBOARD_PROCESS"} <= names
    assert names.isdisjoint({"ACME_API_KEY", "SSH_AUTH_SOCK", "EXTRA"})


async def test_the_api_key_of_the_host_is_nowhere_to_be_read(box):
    assert os.environ["ACME_API_KEY"] == box.key
    box.env = {"ACME_API_KEY": box.key}
    host = os.getpid()
    said = await box.sh(f"env; cat /proc/self/environ /proc/$PPID/environ /proc/{host}/environ /proc/[0-9]*/environ")
    assert "PATH=" in said
    assert box.key not in said


async def test_processes_of_the_host_are_not_visible(box):
    assert str(os.getpid()) not in (await box.sh("ls /proc")).split()


async def test_sockets_of_the_host_cannot_be_reached(box):
    inside = box.root / "s"
    with socket.socket(socket.AF_UNIX) as near, socket.socket(socket.AF_UNIX) as abstract:
        near.bind(str(inside))
        near.listen()
        abstract.bind("\0pegboard-sandbox-test")
        abstract.listen()
        script = (
            "import socket, sys\n"
            "for name in sys.argv[1:]:\n"
            "    try:\n"
            "        socket.socket(socket.AF_UNIX).connect(name.replace('@', '\\0'))\n"
            "        print('reached', name)\n"
            "    except OSError:\n"
            "        print('refused', name)\n"
        )
        _, said = await box.run((sys.executable, "-c", script, str(inside), "@pegboard-sandbox-test"))
    assert said == f"refused {inside}\nrefused @pegboard-sandbox-test\n"


async def test_the_folders_of_sockets_are_empty(box):
    said = await box.sh("ls -A /run /var/run/ | grep -v pegboard; test -e /var/run/docker.sock || echo none")
    assert said == "/run:\n\n/var/run/:\nnone\n"


async def test_the_exit_code_is_that_of_the_command(box):
    ended, _ = await box.run(("sh", "-c", "exit 7"))
    assert ended.code == 7


async def test_no_descriptor_of_the_sandbox_reaches_the_command(box):
    assert await box.sh("ls /proc/self/fd | tr '\\n' ' '") == "0 1 2 3 "


async def test_killing_leaves_nothing(box, tree):
    ready = anyio.Event()

    def heard(data: bytes) -> None:
        ready.set()

    async with box.processes() as processes:
        name = f"sleep 4242{os.getpid()}"
        script = f"setsid sh -c 'unset PEGBOARD_PROCESS; exec env -i {name}' & echo on; {name}"
        spec = ProcessSpec(("sh", "-c", script), box.root, writable=(box.root,), keep_output=False)
        child = await processes.start(spec, on_output=heard)
        with anyio.fail_after(10):
            await ready.wait()
        assert (box.root / ".vscode").is_dir()
        await child.kill()
    hooks.tidy()
    assert name.replace(" ", "\0").encode() not in b"".join(_commands())
    assert tree() == {}


def _commands() -> list[bytes]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes())
        except OSError:
            continue
    return found


async def test_stand_ins_stay_while_another_run_needs_them(box, tree):
    ready = anyio.Event()
    async with box.processes() as processes:
        script = "echo on; read line < fifo; mkdir -p .vscode; echo evil > .vscode/settings.json; true"
        os.mkfifo(box.root / "fifo")
        spec = ProcessSpec(("sh", "-c", script), box.root, writable=(box.root,), keep_output=False)
        child = await processes.start(spec, on_output=lambda _: ready.set())
        with anyio.fail_after(10):
            await ready.wait()
        await box.sh("true")
        assert (box.root / ".vscode").is_dir()
        await anyio.to_thread.run_sync((box.root / "fifo").write_text, "go\n")
        await child.wait()
    hooks.tidy()
    (box.root / "fifo").unlink()
    assert tree() == {}


@pytest.fixture
def without_bubblewrap(monkeypatch):
    monkeypatch.setattr(bubblewrap, "PLACES", "/nonexistent")
    bubblewrap.find.cache_clear()
    yield
    bubblewrap.find.cache_clear()


async def test_a_missing_sandbox_keeps_the_process_from_starting(box, tree, without_bubblewrap):
    with pytest.raises(ToolError, match=r"The sandbox is required, but bwrap is not installed\. Nothing was started"):
        await box.sh("touch started", mechanism="bubblewrap")
    assert tree() == {}


async def test_a_missing_sandbox_may_be_accepted_in_the_settings(box, tree, without_bubblewrap):
    await box.sh("touch started", mechanism="bubblewrap", failIfUnavailable=False)
    assert tree() == {"started": ""}


def test_the_doctor_names_what_is_missing(box, without_bubblewrap):
    found = mechanism.diagnose(box.context(mechanism="bubblewrap").settings)
    assert found == [f"The sandbox is on, but bwrap is not installed. {mechanism.REMEDY}"]
    [fine] = mechanism.diagnose(Settings())
    assert fine.startswith("Switched off. Here bubblewrap cannot be used (bwrap is not installed), Landlock ")


def test_a_program_that_refuses_to_make_a_sandbox_is_named(tmp_path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    assert bubblewrap.trouble(str(program)) == "bwrap is not permitted (bwrap: setting up uid map: Permission denied)"


def test_nothing_is_wrapped_unless_it_is_switched_on(box):
    spec = ProcessSpec(("true",), box.root)
    assert hooks.wrap_process(spec, box.context(enabled=False)) is None


async def test_a_tool_of_the_board_runs_its_commands_in_the_sandbox(box, tree, tmp_path):
    class CommandInput(Input):
        command: str

    class Command(Tool[CommandInput, str]):
        """Run a command."""

        async def call(self, args: CommandInput, ctx: Context, /) -> str:
            output = bytearray()
            spec = ProcessSpec(("sh", "-c", args.command), ctx.cwd, writable=(ctx.cwd,))
            await ctx.processes.run(spec, on_output=output.extend)
            return output.decode()

    class Consent:
        @hookimpl
        def check_permission(self):
            return Allow("for the test")

    board = Board(
        box.context().settings, [], plugins=[Consent(), pegboard_processes, pegboard_sandbox], tools=[Command()]
    )
    command = f"echo x > {tmp_path}/out; echo x > .envrc; echo x > in"
    result = await board.dispatch(Call("1", "Command", {"command": command}))
    with anyio.fail_after(15):  # a thread of the plugin tidies up; nothing announces it
        while (box.root / ".vscode").exists() or (box.root / ".envrc").exists():
            await anyio.sleep(0.05)
    await hooks.end_session()
    assert "Is a directory" in result.text
    assert tree() == {"in": "x\n"}
    assert not (tmp_path / "out").exists()
