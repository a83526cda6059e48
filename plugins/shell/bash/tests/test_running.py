"""Running commands: where they start, how they end, what is shown of them and what is left of them."""

import os
import re
import resource
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import Board, Call, Context, ToolError
from pegboard.context import Agent
from pegboard.settings import Layer, Settings
from pegboard_bash.codes import ending, register_exit_codes
from pegboard_bash.output import shown
from pegboard_bash.shape import shape_of
from pegboard_confine import HELPER, tidy
from pegboard_files import FileState, plain_text
from pegboard_processes.memory import cap_memory, kills_for_memory

SLOW = bool(os.environ.get("PEGBOARD_TEST_SLOW"))


@pytest.fixture
def bash(approve, call_tool):
    return lambda command, **more: call_tool("Bash", command=command, **more)


@pytest.fixture
def in_turn(approve, board, ctx):
    """Commands one after the other, each in the context that the one before has left."""

    def run(*commands, start=ctx):
        async def all_of_them():
            now, results = start, []
            for number, command in enumerate(commands):
                results.append(await board.dispatch(Call(str(number), "Bash", {"command": command}), now))
                now = now.after(results[-1].change)
            return results

        return anyio.run(all_of_them)

    return run


def with_settings(ctx: Context, **values) -> Context:
    """The context with these settings; `bash_onTimeout` stands for `bash.onTimeout`."""
    named = {name.replace("_", ".", 1): value for name, value in values.items()}
    return replace(ctx, settings=Settings([Layer("cli", "test", named)], cwd=str(ctx.cwd)))


@pytest.mark.parametrize(
    "wrapper", ["", "timeout 5 ", "nice ", "stdbuf -o0 ", "command ", "time ", "env ", "timeout 5 nice "]
)
def test_git_is_kept_quiet_behind_every_wrapper(bash, wrapper):
    assert bash(f"{wrapper}printenv GIT_CONFIG_KEY_1").text.startswith("core.hooksPath")


# The working directory


def test_the_next_command_starts_where_the_last_one_ended(in_turn, ctx):
    (ctx.cwd / "sub").mkdir()
    assert in_turn("cd sub", "pwd")[1].text == str(ctx.cwd / "sub")


@pytest.mark.parametrize("move", ["cd sub; exit 0", "cd sub && (cd /; true)", "pushd sub >/dev/null", "eval 'cd sub'"])
def test_every_way_to_move_is_followed(in_turn, ctx, move):
    (ctx.cwd / "sub").mkdir()
    assert in_turn(move, "pwd")[1].text == str(ctx.cwd / "sub")


def test_a_shell_that_leaves_the_working_directories_is_brought_back(in_turn, ctx):
    first, second = in_turn("cd / && echo there", "pwd")
    outside = "The shell ended in /, which is outside the working directories."
    assert first.text == f"there\n{outside} The next command starts in {ctx.cwd} again."
    assert second.text == str(ctx.cwd)


def test_a_further_working_directory_may_be_entered(in_turn, ctx, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    results = in_turn(f"cd {other}", "pwd", start=replace(ctx, roots=(other,)))
    assert results[1].text == str(other)


def test_a_link_does_not_lead_out_of_the_working_directories(in_turn, ctx):
    (ctx.cwd / "link").symlink_to("/")
    first, second = in_turn("cd link", "pwd")
    assert (first.change, second.text) == (None, str(ctx.cwd))


def test_a_deleted_folder_falls_back_to_where_the_session_began(in_turn, ctx):
    (ctx.cwd / "sub").mkdir()
    _, second, third = in_turn("cd sub", "rmdir ../sub", "pwd")
    assert f"The working directory {ctx.cwd / 'sub'} no longer exists." in second.text
    assert third.text == str(ctx.cwd)


def test_a_folder_that_somebody_else_deleted_is_noticed(bash, board, ctx, approve):
    gone = replace(ctx, cwd=ctx.cwd / "gone")
    result = anyio.run(board.dispatch, Call("1", "Bash", {"command": "pwd"}), gone)
    assert result.text == f"{ctx.cwd}\nThe working directory {gone.cwd} no longer exists. The command ran in {ctx.cwd}."
    assert result.change.cwd == ctx.cwd


def test_sub_agents_do_not_carry_the_working_directory(in_turn, ctx):
    (ctx.cwd / "sub").mkdir()
    child = replace(ctx, agent=Agent("a", "worker", "main", 1))
    assert in_turn("cd sub", "pwd", start=child)[1].text == str(ctx.cwd)


def test_a_sub_agent_whose_folder_is_gone_is_not_sent_elsewhere(in_turn, ctx):
    lost = replace(ctx, cwd=ctx.cwd / "gone", agent=Agent("a", "worker", "main", 1))
    [result] = in_turn("pwd", start=lost)
    assert (result.code, result.text.partition(".")[0]) == (
        "not_found",
        f"The working directory {lost.cwd} no longer exists",
    )


def test_a_setting_switches_the_carrying_off(in_turn, ctx):
    (ctx.cwd / "sub").mkdir()
    assert in_turn("cd sub", "pwd", start=with_settings(ctx, bash_keepDirectory=False))[1].text == str(ctx.cwd)


@pytest.mark.parametrize("failing", ["cd sub && false", "cd sub; exit 3", "cd sub && kill -TERM $$"])
def test_a_command_that_failed_has_moved_all_the_same(in_turn, ctx, failing):
    (ctx.cwd / "sub").mkdir()
    first, second = in_turn(failing, "pwd")
    assert first.is_error
    assert first.text.endswith(f"The next command starts in {ctx.cwd / 'sub'}.")
    assert second.text == str(ctx.cwd / "sub")


def test_a_command_that_failed_outside_the_working_directories_is_brought_back(in_turn, ctx):
    first, second = in_turn("cd / && false", "pwd")
    assert "which is outside the working directories" in first.text
    assert second.text == str(ctx.cwd)


def test_following_leaves_no_trace_in_the_command(bash):
    result = bash("cd . ; echo ${BASH_ENV-unset} $0 $#; bash -c 'trap -p EXIT'; nonsense_program")
    assert result.text.splitlines()[1:] == ["unset bash 0", "bash: line 1: nonsense_program: command not found"]


@pytest.mark.parametrize("trick", ["mkfifo", "ln -s /dev/zero"])
def test_a_command_cannot_trick_us_with_the_file_it_is_followed_by(bash, trick):
    find_it = "end=$(trap -p EXIT | grep -o '/[^ ;]*/end'); trap - EXIT"
    result = bash(f"cd .; {find_it}; {trick} $end && echo done")
    assert (result.text, result.change) == ("done", None)


def test_an_exit_trap_of_the_command_still_runs(bash):
    assert bash("cd .; trap 'echo bye' EXIT; echo hi").text == "hi\nbye"


def test_workdir_is_for_one_command(bash, ctx):
    (ctx.cwd / "sub").mkdir()
    result = bash("cd .; pwd", workdir="sub")
    assert (result.text, result.change) == (str(ctx.cwd / "sub"), None)


def test_workdir_must_be_inside_the_working_directories(bash):
    assert "workdir '/' is outside the working directories" in bash("pwd", workdir="/").text


def test_variables_do_not_persist(in_turn):
    assert in_turn("export KEPT=1", "echo ${KEPT-gone}")[1].text == "gone"


def test_a_command_may_begin_with_a_dash(bash):
    assert bash("-x").text.startswith("The command exited with code 127 (there is no such program).")


# Exit codes


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep nothing a.txt", "no line matched"),
        ("cat a.txt | grep nothing", "no line matched"),
        ("cd . && grep nothing a.txt", "no line matched"),
        ("test -f none && grep nothing a.txt", "the condition is false or no line matched"),
        ("false || grep nothing a.txt", "no line matched"),
        ("[ -f none ]", "the condition is false"),
        ("[[ -f none ]]", "the condition is false"),
        ("diff a.txt b.txt > /dev/null", "there are differences"),
        ("cmp -s a.txt b.txt", "there are differences"),
        ("pgrep -x nobody_is_called_this", "no process matched"),
        ("(echo x; grep nothing a.txt) > out", "no line matched"),
        ("env A=1 grep nothing a.txt", "no line matched"),
    ],
)
def test_a_code_that_is_an_answer_is_no_failure(bash, ctx, command, meaning):
    (ctx.cwd / "a.txt").write_text("a\n")
    (ctx.cwd / "b.txt").write_text("b\n")
    result = bash(command)
    assert (result.is_error, result.value.return_code_interpretation) == (False, meaning)
    assert result.text.endswith(f"(exit code 1: {meaning})")


@pytest.mark.parametrize(
    "command",
    [
        "false",
        "grep x a.txt; false",
        "grep nothing a.txt | false",
        "cd none && grep x a.txt",
        "false && grep x a.txt",
        "grep x none.txt",
        "jq . none.json",
        "if true; then grep nothing a.txt; fi; exit 1",
        "! true",
    ],
)
def test_every_other_code_is_a_failure(bash, ctx, command):
    (ctx.cwd / "a.txt").write_text("a\n")
    assert bash(command).is_error


def test_jq_answers_by_code_only_when_it_is_asked_to():
    from pegboard_bash.codes import interpretation

    assert interpretation(1, shape_of("jq -e .a f.json"), "") == "the last value is false or null"
    assert interpretation(1, shape_of("jq .a f.json"), "") == ""
    assert interpretation(1, shape_of("git -C x --no-pager diff --quiet"), "") == "there are differences"


def test_plugins_teach_codes_of_their_programs(bash, ctx):
    register_exit_codes("my_linter", {4: "there are findings"})
    (ctx.cwd / "my_linter").write_text("#!/bin/sh\nexit 4\n")
    (ctx.cwd / "my_linter").chmod(0o755)
    assert bash("./my_linter").text == "(exit code 4: there are findings)"


def test_signals_are_named_also_behind_the_shell(bash):
    assert bash("bash -c 'kill -SEGV $$'; exit $?").text.startswith(
        "The command exited with code 139: part of it was killed by SIGSEGV."
    )


# Time


def test_a_timeout_beyond_the_limit_is_clamped_and_said(bash):
    assert bash("echo x", timeout=900_000).text == "x\ntimeout was 900000; the maximum of 600000 was used."


def test_the_usual_timeout_is_a_setting(in_turn, ctx):
    [result] = in_turn("echo begun; sleep 30", start=with_settings(ctx, bash_defaultTimeoutMs=200))
    assert (result.code, result.text) == ("timeout", "The command timed out after 0.2 s and was killed.\nbegun")


def test_a_command_that_ends_well_when_it_is_told_to_has_still_timed_out(bash):
    assert bash("trap 'exit 0' TERM; sleep 30 & wait", timeout=300).code == "timeout"


def test_the_call_returns_although_a_grandchild_holds_the_output(bash):
    began = time.monotonic()
    assert bash("sleep 60 & echo done").text == "done"
    assert time.monotonic() - began < 6


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("vim a.txt", "Use Edit or Write"),
        ("git log | less", "output is never paged"),
        ("git rebase -i HEAD~2", "GIT_SEQUENCE_EDITOR"),
        ("git add -p", "git apply --cached"),
        ("top", "top -b -n 1"),
    ],
)
def test_interactive_programs_are_refused_with_advice(bash, command, advice):
    result = bash(command)
    assert result.is_error
    assert "needs a person at a terminal, and there is none" in result.text
    assert advice in result.text


def test_programs_that_only_sound_interactive_run(bash):
    assert bash("echo vim; : less; printf '%s' 'git rebase -i'").text == "vim\ngit rebase -i"


def test_a_long_sleep_is_remarked_on():
    from pegboard_bash.refusals import sleeps_long

    assert [sleeps_long(each) for each in ("sleep 60", "sleep 1m && ls", "sleep 1", "ls; echo 60")] == [
        True,
        True,
        False,
        False,
    ]


# Output


def test_colours_and_progress_bars_are_cleaned_and_kept_raw_on_disk(bash):
    result = bash(r"printf '\e[31mred\e[0m\n10%%\r50%%\r100%%\nend\r\n'")
    assert result.text == "red\n100%\nend"
    assert b"\x1b[31mred" in Path(result.value.persisted_output_path).read_bytes()


def test_bytes_that_are_no_text_are_visible(bash):
    assert bash(r"printf 'a\xffb\x00c'").text == r"a\xffb\x00c"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain\n", "plain\n"),
        ("\x1b]0;title\x07text", "text"),
        ("N\x08NA\x08A", "NA"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("50%\r\x1b[K", "50%"),
    ],
)
def test_cleaning_leaves_what_a_terminal_would_show(raw, clean):
    assert plain_text(raw) == clean


def test_output_within_the_limit_is_shown_whole_and_its_file_removed(bash):
    result = bash("head -c 29000 /dev/zero | tr '\\0' x")
    assert (len(result.text), result.value.persisted_output_path) == (29_000, None)


def test_output_beyond_the_limit_is_previewed_with_the_path_of_all_of_it(bash):
    result = bash("seq 1 20000")
    path = result.value.persisted_output_path
    assert path.read_text().splitlines()[-1] == "20000"
    assert result.text.startswith("1\n2\n")
    assert f"20000\nThe full output (108,894 bytes) is in {path}." in result.text
    assert "bytes omitted" in result.text
    assert len(result.text) < 5_000


def test_a_failure_shows_head_and_tail(bash):
    result = bash("seq 1 20000; exit 3")
    assert result.text.startswith("The command exited with code 3.\n1\n2\n")
    assert "20000\nThe full output" in result.text
    assert 8_000 < len(result.text) < 11_000


@pytest.mark.parametrize("shift", range(4))
def test_nothing_is_cut_inside_a_character(tmp_path, shift):
    path = tmp_path / "out"
    path.write_bytes(b"x" * shift + "🎈".encode() * 400_000)
    text = shown(path, 30_000, 4_000).text
    assert "\\x" not in text
    assert set(text.partition("\n")[0]) <= {"x", "🎈"}


@pytest.fixture
def grown():
    """How many bytes of memory this process has taken at most since the test began."""
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return lambda: (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit


def test_much_output_needs_little_memory(bash, grown):
    result = bash("yes 'ä line of output' | head -c 50000000")
    assert result.value.persisted_output_size == 50_000_000
    assert len(result.text) < 5_000
    assert grown() < 20_000_000
    result.value.persisted_output_path.unlink()


@pytest.mark.skipif(not SLOW, reason="five gigabytes take a while")
def test_more_than_five_gigabytes_are_capped_in_little_memory(bash, grown):
    result = bash("yes 'ä line of output' | head -c 5200000000", timeout=600_000)
    path = Path(re.search(r"is in (\S+)\.", result.text)[1])
    assert (result.code, path.stat().st_size) == ("too_large", 5_000_000_000)
    lines = result.text.splitlines()
    assert lines[0] == "The command wrote more than 5,000,000,000 bytes and was killed."
    assert all("ä line of output".startswith(line) for line in lines[1:-1] if not line.startswith("[..."))
    assert grown() < 20_000_000
    path.unlink()


def test_a_command_that_writes_too_much_is_ended(in_turn, ctx):
    [result] = in_turn("yes", start=with_settings(ctx, bash_maxOutputBytes=100_000))
    assert result.code == "too_large"
    assert result.text.startswith("The command wrote more than 100,000 bytes and was killed.\ny\ny\n")


def test_the_screen_sees_a_tail_while_it_runs(board, ctx, approve):
    seen = []
    watched = replace(ctx, on_progress=seen.append)
    anyio.run(board.dispatch, Call("1", "Bash", {"command": "echo one; sleep 0.3; echo two; sleep 0.3"}), watched)
    assert [progress.message for progress in seen] == ["one", "two"]
    assert seen[-1].data == {"tail": "one\ntwo", "bytes": 8}


def test_the_structured_result_has_the_documented_names(bash):
    data = bash("echo hi").value.model_dump(mode="json")
    assert (data["stdout"], data["exitCode"], data["interrupted"]) == ("hi", 0, False)
    assert {"returnCodeInterpretation", "backgroundTaskId", "persistedOutputPath", "cwdAfter", "wallMs"} <= set(data)


def test_programs_get_to_know_how_a_command_failed(bash):
    result = bash("echo hi; exit 3")
    assert (result.is_error, result.code) == (True, "failed")
    assert (result.value.stdout, result.value.exit_code, result.value.interrupted) == ("hi", 3, False)
    timed_out = bash("echo hi; sleep 60", timeout=300).value
    assert (timed_out.stdout, timed_out.exit_code, timed_out.timed_out_after_ms) == ("hi", None, 300)
    assert (timed_out.signal, timed_out.interrupted, timed_out.wall_ms >= 300) == ("SIGTERM", True, True)


def test_a_file_that_was_read_and_changed_is_named(bash, board, ctx):
    import hashlib

    path = ctx.cwd / "a.txt"
    path.write_text("old\n")
    found = path.stat()
    digest = hashlib.sha256(b"old\n").hexdigest()
    ctx.files.note(path, FileState(digest, found.st_size, found.st_mtime_ns))
    result = bash("echo new > a.txt")
    assert result.value.stale_read_file_state_hint == f"This command changed {path}. Read again before you edit."
    assert ctx.files.known(path) is None


# What is withheld, and what is left


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")
def test_the_key_of_the_host_is_invisible(approve, answers, monkeypatch, tmp_path):
    # Before the board: the environment is taken once.
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-indeed-0123456789")
    board = Board.load(settings=Settings(cwd=str(tmp_path)), plugins=[answers])
    command = "env; tr '\\0' '\\n' < /proc/self/environ; export -p"
    result = anyio.run(board.dispatch, Call("1", "Bash", {"command": command}), board.context())
    assert "PATH=" in result.text
    assert "very-secret" not in result.text


def _left(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if any(mark.encode() in (entry / name).read_bytes() for name in ("environ", "cmdline")):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


MIX = [
    ("sleep 60", 100, 0),
    ("sleep 60 & sleep 60", 100, 0),
    ("setsid sleep 60 & sleep 60", 100, 0),
    ("nohup sleep 60 >/dev/null 2>&1 & sleep 60", 100, 0),
    ("yes", 100, 0),
    ("trap '' TERM; sleep 60", 0, 0.1),
    ("trap '' TERM; while :; do sleep 1; done", 100, 0),
    ("trap '' TERM; (while :; do sleep 1; done) & true", 0, 0),
    ("(setsid bash -c 'trap \"\" TERM; exec sleep 60' &) ; true", 0, 0),
    ("(setsid bash -c 'sleep 60' &) ; sleep 60", 0, 0.1),
    ("yes | cat > /dev/null", 0, 0.1),
    ("head -c 300000 /dev/zero", 0, 0),
    ("true", 0, 0),
]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
def release_prepared():
    """End what waits for the next confined command: it belongs to the host and not to a call."""
    tidy()
    HELPER.close()


def test_nothing_is_left_of_many_calls_that_go_wrong(board, ctx, approve):
    mark = f"PEGBOARD_TEST_MARK_{os.getpid()}_{time.monotonic_ns()}"
    late = []

    async def one(number, slots):
        command, timeout, cancel = MIX[number % len(MIX)]
        given = {"command": f"export {mark}=1; {command}", **({"timeout": timeout} if timeout else {})}
        async with slots:
            began = time.monotonic()
            with anyio.move_on_after(cancel or None):
                await board.dispatch(Call(str(number), "Bash", given), ctx)
            late.append((time.monotonic() - began - timeout / 1000 - cancel, command))

    async def all_of_them():
        slots = anyio.CapacityLimiter(10 if not SLOW else 4)
        await board.dispatch(Call("first", "Bash", {"command": "true; :"}), ctx)
        release_prepared()
        before = len(os.listdir("/proc/self/fd"))
        async with anyio.create_task_group() as group:
            for number in range(500 if SLOW else 100):
                group.start_soon(one, number, slots)
        release_prepared()
        return before, len(os.listdir("/proc/self/fd"))

    before, after = anyio.run(all_of_them)
    left = _left(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert (left, after - before) == ([], 0)
    # Three seconds is the promise; other tests on the same cores may take their share in the short form.
    assert max(late)[0] < (3 if SLOW else 20), max(late)


# What people see


HUNGRY = f"{sys.executable} -c 'bytearray(400_000_000)'"


@pytest.fixture
def capped(ctx):
    """A context in which a command may use 100 MB."""
    try:
        cap_memory(100_000_000, "probe").remove()
    except ToolError as error:
        pytest.skip(error.message)
    return with_settings(ctx, bash_maxMemoryMb=100)


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (f"exec {HUNGRY}", "was killed by SIGKILL, because it ran out of memory"),
        (f"{HUNGRY}; exit $?", "part of it was killed by SIGKILL, because it ran out of memory"),
        (f"{HUNGRY} || exit 2", "exited with code 2"),
    ],
)
def test_a_command_that_wants_too_much_memory_is_ended_and_told_why(in_turn, capped, command, ending):
    [result] = in_turn(command, start=capped)
    assert ending in result.text.splitlines()[0]
    assert result.text.endswith("It ran out of memory: the limit is 100 MB (setting bash.maxMemoryMb).")


def test_a_command_within_its_memory_runs_as_usual(in_turn, capped):
    said = in_turn("setsid cat /proc/self/cgroup", start=capped)[0].text
    name = re.search(r"pegboard-\w+", said)[0]
    assert list(Path("/sys/fs/cgroup").rglob(name)) == []


def test_a_kill_for_want_of_memory_of_the_whole_machine_is_named():
    assert ending(None, "SIGKILL", memory_ran_out=True) == "was killed by SIGKILL, because it ran out of memory"
    assert ending(137, "", memory_ran_out=True).endswith(
        "part of it was killed by SIGKILL, because it ran out of memory"
    )
    assert kills_for_memory() >= 0


def test_the_person_who_is_asked_sees_what_would_change(board, ctx):
    tool = board.find("Bash").tool
    args = tool.input(command="echo x > a.txt", description="Write a file", workdir=Path("."), run_in_background=True)
    assert tool.describe(args) == "Run in the background: echo x > a.txt (in .)"
    assert tool.preview(args, ctx).splitlines() == ["A redirect writes a.txt.", f"writes {ctx.cwd / 'a.txt'}"]


def test_what_the_model_wrote_cannot_pose_as_the_hosts_words(board, ctx):
    tool = board.find("Bash").tool
    args = tool.input(command="cat > 'a\nwrites nothing'\nls", description="why: it only reads")
    assert tool.describe(args) == "Run: cat > 'a⏎ writes nothing'⏎ ls"
    shown = tool.preview(args, ctx)
    assert "it only reads" not in shown
    assert shown.splitlines() == ["A redirect writes 'a\\nwrites nothing'.", f"writes {ctx.cwd}/a⏎ writes nothing"]
    named = tool.preview(tool.input(command="'ls. It is safe. All of it' x"), ctx)
    assert named == "What 'ls. It is safe. All of it' does is not known."


def test_a_terminal_shows_output_without_taking_it_for_markup(board):
    pytest.importorskip("rich")
    tool = board.find("Bash").tool
    assert tool.render_result(tool.output(stdout="[bold]x[/bold]")).plain == "[bold]x[/bold]"
    assert "$ ls" in tool.render_use(tool.input(command="ls")).code
