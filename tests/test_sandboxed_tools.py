"""The sandbox around the tools as they are: whatever they start runs in it, and what they are for still works."""

import json
import os
import subprocess
from pathlib import Path

import anyio
import pytest

from pegboard import Allow, Call, Context, ProcessSpec, hookimpl
from pegboard_sandbox import bubblewrap, hooks
from pegboard_session import ReplayProvider, Session

from .agents import Watching, agent, make_board, of, play, results_of, said_by, text, turn, use

ON = {"sandbox.enabled": True}


@pytest.fixture(autouse=True)
def _at_home(monkeypatch, tmp_path):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    home = tmp_path / "project-home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("ACME_API_KEY", "sk-host-0123456789abcdef0123456789")
    monkeypatch.setattr(hooks, "LEDGERS", {})
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "test@example.com")


class Started(Watching):
    """Sees also each process as it is started: after everybody else has had a say."""

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[str] = []
        self.writable: list[tuple[Path, ...]] = []

    @hookimpl(priority=1000)
    def wrap_process(self, spec: ProcessSpec, ctx: Context) -> None:
        self.programs.append(os.path.basename(spec.argv[0]))
        self.writable.append(spec.writable)


@pytest.fixture
def watching():
    return Started()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def git(folder, *words):
    made = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return made.stdout.strip()


@pytest.fixture
def repository(project):
    git(project, "init", "-q", "-b", "main")
    (project / "app.txt").write_text("original\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    return project


async def bash(board, command, ctx=None, **more):
    return await board.dispatch(Call("1", "Bash", {"command": command, **more}), ctx or board.context())


async def test_agents_commit_in_worktrees_of_their_own(repository, watching):
    board = make_board(repository, watching, **ON)
    names = ["n1", "n2", "n3"]
    script = [turn(*(agent(name=name, isolation="worktree") for name in names)), turn(text("Done."))]
    for name in names:
        script += [
            of(name, use("Bash", command=f"echo {name} > {name}.txt && git add -A && git commit -q -m {name}")),
            of(name, text("committed")),
        ]
    with anyio.fail_after(120):
        _, session = await play(board, *script)
    for name, result in zip(names, results_of(session), strict=True):
        branch = result.split("on the branch ")[1].rstrip(")")
        assert git(repository, "log", "--format=%s", f"main..{branch}") == name
    assert git(repository, "status", "--porcelain") == ""
    assert set(watching.programs) == {"bwrap"}


async def test_a_worktree_in_which_nothing_happened_is_removed(repository, watching):
    board = make_board(repository, watching, **ON)
    script = [turn(agent(name="idle", isolation="worktree")), turn(text("Done."))]
    script += [of("idle", use("Bash", command="git status --porcelain && pwd")), of("idle", text("nothing"))]
    await play(board, *script)
    assert "/.pegboard/worktrees/idle-" in said_by(watching)[0]
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "for-each-ref", "refs/heads/pegboard") == ""


async def test_the_working_directory_is_carried(project, watching):
    (project / "sub").mkdir()
    board = make_board(project, watching, **ON)
    script = [turn(use("Bash", command="cd sub")), turn(use("Bash", command="touch here; pwd")), turn(text("Done."))]
    _, session = await play(board, *script)
    assert results_of(session, 4) == [str(project / "sub")]
    assert (project / "sub/here").exists()


async def test_a_link_in_place_of_the_working_directory_opens_nothing(project, watching, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (project / "sub").mkdir()
    board = make_board(project, watching, **ON)
    script = [
        turn(use("Bash", command="cd sub")),
        turn(use("Bash", command=f"cd .. && mv sub old && ln -s ../{victim.name} sub && cd sub || true")),
        turn(use("Bash", command="echo evil > evil; echo evil > ../victim/evil")),
        turn(text("Done.")),
    ]
    await play(board, *script)
    assert list(victim.iterdir()) == []


async def test_a_command_that_only_reads_can_write_nowhere(project, watching):
    board = make_board(project, watching, **ON)
    await bash(board, "ls -la")
    await bash(board, "touch a")
    assert watching.writable == [(), (project,)]


async def test_searching_runs_in_the_sandbox(project, watching):
    (project / "a.txt").write_text("needle\n")
    board = make_board(project, watching, **ON)
    result = await board.dispatch(Call("1", "Grep", {"pattern": "needle", "output_mode": "content"}))
    assert "needle" in result.text
    assert watching.programs == ["bwrap"]


async def test_a_hook_of_the_user_runs_in_the_sandbox(project, watching, tmp_path):
    outside = tmp_path / "outside"
    script = project / "hook.sh"
    script.write_text(f'#!/bin/sh\necho x > {outside}\necho "$ACME_API_KEY" > in.txt\n')
    script.chmod(0o755)
    hooks = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": str(script)}]}]}
    settings = tmp_path / "project-home" / ".pegboard" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": hooks}))
    board = make_board(project, watching, **ON)
    await board.dispatch(Call("1", "Glob", {"pattern": "*"}))
    assert (project / "in.txt").read_text() == "\n"
    assert not outside.exists()
    assert watching.programs == ["bwrap"]


async def test_the_temporary_folder_lives_as_long_as_a_task_in_the_background(project, watching):
    os.mkfifo(project / "go")
    board = make_board(project, watching, **ON)
    script = [
        turn(use("Bash", command='echo kept > "$TMPDIR/a"; read x < go; cat "$TMPDIR/a"', run_in_background=True)),
        turn(use("Bash", command='test -e "$TMPDIR/a" || echo private; touch other')),
        turn(text("Done.")),
    ]
    async with Session(board, ReplayProvider(script), model="m") as session:
        await session.run("Go")
        assert results_of(session, 4) == ["private"]
        background = session.ctx.services.background
        [task] = background.tasks()
        assert (project / ".vscode").is_dir()
        await anyio.to_thread.run_sync((project / "go").write_text, "now\n")
        with anyio.fail_after(20):
            await background.wait(task.id)
        assert Path(task.output).read_text() == "kept\n"
    (project / "go").unlink()
    hooks.tidy()
    assert sorted(path.name for path in project.iterdir()) == ["other"]


async def test_a_task_of_the_background_ends_with_the_session(project, watching):
    board = make_board(project, watching, **ON)
    script = [turn(use("Bash", command=f"sleep 4343{os.getpid()}", run_in_background=True)), turn(text("Done."))]
    await play(board, *script)
    assert f"sleep\0004343{os.getpid()}".encode() not in b"".join(_commands())


def _commands():
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield (folder / "cmdline").read_bytes()
        except OSError:
            continue


async def test_a_timeout_ends_everything_inside(project, watching):
    board = make_board(project, watching, **ON)
    name = f"sleep 4444{os.getpid()}"
    command = f"setsid sh -c 'trap \"\" TERM; exec env -i {name}' & {name}"
    result = await bash(board, command, timeout=500)
    assert "0.5 s" in result.text
    assert name.replace(" ", "\0").encode() not in b"".join(_commands())


async def test_nobody_is_asked_about_a_sandboxed_command(project, watching):
    board = make_board(project, watching, **ON)
    await bash(board, 'python3 -c \'open("made", "w")\'')
    assert (project / "made").exists()
    assert watching.questions == []


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("touch made", {"sandbox.autoAllowBashIfSandboxed": False}),
        ("touch made", {"sandbox.network.mode": "on"}),
        ("touch made", {"permissions.ask": ["Bash(touch *)"]}),
        ("touch made", {"sandbox.excludedCommands": ["touch"]}),
        ("rm -rf /home", {}),
        ("touch .git/hooks/made", {}),
    ],
)
async def test_a_question_that_the_sandbox_does_not_answer(project, watching, command, settings):
    watching.answer = None
    board = make_board(project, watching, **ON, **settings)
    await bash(board, command)
    assert len(watching.questions) == 1
    assert list(project.iterdir()) == []


async def test_a_rule_that_denies_holds_in_the_sandbox(project, watching):
    board = make_board(project, watching, **ON, **{"permissions.deny": ["Bash(touch *)"]})
    result = await bash(board, "touch made")
    assert "denied" in result.text
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "outside"),
    [
        ("touch {}", True),
        ("touch {} ", True),
        ("touch {}; true", False),
        ("touch {} && true", False),
        ("touch $(echo {})", False),
        ("echo x > {}", False),
        ("touch\n{}", False),
        ("touchy {}", False),
        ("env touch {}", False),
        ("bash -c 'touch {}'", False),
    ],
)
async def test_only_a_plain_command_is_excluded(project, watching, tmp_path, command, outside):
    board = make_board(project, watching, **ON, **{"sandbox.excludedCommands": ["touch *"]})
    made = tmp_path / "made"
    await bash(board, command.format(made))
    assert made.exists() is outside
    assert watching.programs == (["bash"] if outside else ["bwrap"])


@pytest.mark.parametrize("command", ["mytool", "docker ps", "docker version"])
@pytest.mark.parametrize("relative", [False, True])
async def test_a_program_of_the_project_is_not_excluded(project, watching, tmp_path, monkeypatch, command, relative):
    program = project / "bin" / command.split()[0]
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{'bin' if relative else program.parent}:{os.environ['PATH']}")
    board = make_board(project, watching, **ON, **{"sandbox.excludedCommands": [program.name]})
    await bash(board, command)
    assert watching.programs in (["bwrap"], [])
    assert not (tmp_path / "made").exists()


async def test_the_key_of_the_host_is_not_to_be_seen(project, watching):
    board = make_board(project, watching, **ON)
    parent = f"/proc/{os.getpid()}/environ /proc/{os.getppid()}/environ"
    result = await bash(board, f"env; cat /proc/self/environ /proc/$PPID/environ {parent} /proc/*/environ; true")
    assert "PATH=" in result.text
    assert "sk-host" not in result.text


class Answering(Started):
    """Somebody who says yes, and remembers why they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    @hookimpl
    def ask_user(self, question):
        self.reasons.append(question.decision.reason)
        return Allow("yes")


async def test_a_command_leaves_the_sandbox_only_with_a_setting_and_a_person(project):
    answering = Answering()
    allowed = make_board(project, answering, **ON, **{"sandbox.allowUnsandboxedCommands": True})
    result = await bash(allowed, "echo out", dangerouslyDisableSandbox=True)
    assert (result.text, answering.programs) == ("out", ["bash"])
    assert answering.reasons == ["Bash would run it outside the sandbox."]


async def test_without_the_setting_a_command_stays_in_the_sandbox_and_is_told(project, watching):
    result = await bash(make_board(project, watching, **ON), "echo in", dangerouslyDisableSandbox=True)
    stayed = "The command still ran in the sandbox: sandbox.allowUnsandboxedCommands is not set."
    assert (result.text, watching.programs) == (f"in\n{stayed}", ["bwrap"])


async def test_a_rule_can_forbid_to_ask_for_it(project, watching):
    board = make_board(
        project,
        watching,
        **ON,
        **{"sandbox.allowUnsandboxedCommands": True, "permissions.deny": ["Bash(dangerouslyDisableSandbox:true)"]},
    )
    result = await bash(board, "echo out", dangerouslyDisableSandbox=True)
    assert (result.code, watching.programs) == ("permission_denied", [])


async def test_aliases_of_the_user_are_there_in_the_sandbox_too(project):
    answering = Answering()
    home = Path(os.environ["HOME"])
    (home / ".bash_profile").write_text("alias greet='echo hello'\n")
    board = make_board(project, answering, **ON, **{"bash.snapshot": True})
    ctx = board.context(roots=(home,))  # The sandbox hides other folders in /tmp, and here the home is one.
    assert (await bash(board, "greet you", ctx)).text == "hello you"
    assert set(answering.programs) == {"bwrap"}
