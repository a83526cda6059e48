"""Handlers that crash, hang, babble or cannot start: by the protocol they have no say, with `onError` they do."""

import os
import sys
from pathlib import Path

import pytest

from pegboard import Call
from pegboard.context import Services

BAD = {
    "crash": "#!/bin/sh\necho 'Traceback: boom' >&2\nexit 1\n",
    "killed": "#!/bin/sh\nkill -9 $$\n",
    "timeout": "#!/bin/sh\nsleep 60 & sleep 60\n",
    "garbage": "#!/bin/sh\nprintf '{\"hookSpecificOutput\": '\n",
    "not text": "#!/bin/sh\nprintf '\\377\\376\\000'\n",
    "flood": f"#!{sys.executable}\nimport sys\nfor _ in range(800):\n    sys.stdout.write('x' * 65536)\n",
    "not executable": None,
    "missing": None,
}
PROBLEMS = {
    "crash": "It exited with code 1: Traceback: boom",
    "killed": "It was killed by SIGKILL.",
    "timeout": "It took longer than 0.2 s and was killed.",
    "garbage": "It printed invalid JSON.",
    "not text": "It printed bytes that are not UTF-8 text.",
    "flood": "It printed more than 1000000 bytes and was killed.",
    "not executable": "It exited with code 126",
    "missing": "It exited with code 127 (no such command)",
}


def bad(project, how):
    if how == "missing":
        return str(project.home / "nowhere.sh")
    path = project.script(BAD[how] or "#!/bin/sh\n")
    if how == "not executable":
        os.chmod(path, 0o644)
    return path


@pytest.mark.parametrize("on_error", [None, "allow", "ask", "deny"])
@pytest.mark.parametrize("how", BAD)
async def test_what_a_failing_hook_means(project, how, on_error):
    project.person.answer = None
    more = {"onError": on_error} if on_error else {}
    project.hook("PreToolUse", bad(project, how), timeout=0.2 if how == "timeout" else 30, **more)
    result = await project.call("Echo", text="hi")
    asked = [question.decision.reason for question in project.person.asked]
    if on_error in (None, "allow"):
        assert (result.text, asked) == ("hi", [])
        assert result.decision.layer == "read-only"
    else:
        words = asked[0] if on_error == "ask" else result.text
        assert f"failed. {PROBLEMS[how]}" in words
        assert (result.code, bool(asked)) == ("permission_denied", on_error == "ask")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_guard_that_repeats_a_long_input_still_blocks(project, stream):
    words = f"import sys\nsys.{stream}.write('No: ' + sys.stdin.read())\nsys.exit(2)\n"
    project.hook("PreToolUse", project.script(f"#!{sys.executable}\n{words}"), timeout=60)
    result = await project.call("Echo", text="x" * 2_000_000)
    assert result.code == "permission_denied"


async def test_an_answer_may_begin_with_a_byte_order_mark(project):
    said = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'
    project.hook("PreToolUse", project.script(f"#!/bin/sh\nprintf '\\357\\273\\277%s' '{said}'\n"))
    assert (await project.call("Echo", text="hi")).code == "permission_denied"


async def test_a_failing_hook_never_lets_a_call_run_that_would_ask(project):
    project.person.answer = None
    project.hook("PreToolUse", bad(project, "crash"), onError="allow")
    assert (await project.call("Bash", command="true")).code == "permission_denied"


async def test_a_program_that_cannot_start_is_a_failure_too(project):
    project.hook("PreToolUse", {"command": str(project.home / "nowhere"), "args": [], "onError": "deny"})
    assert "the program was not found" in (await project.call("Echo", text="hi")).text


async def test_a_hook_that_never_reads_its_input_or_closes_it_is_fine(project):
    project.hook("PreToolUse", project.script("#!/bin/sh\nexec <&-\nexit 0\n"), "true", onError="deny")
    assert (await project.call("Echo", text="x" * 3_000_000)).value == "x" * 3_000_000


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_nothing_of_a_hook_survives_its_timeout(project):
    pids = project.home / "pids"
    project.hook(
        "PreToolUse", f"echo $$ > {pids}; (trap '' TERM; sleep 60 & echo $! >> {pids}; wait) & wait", timeout=0.5
    )
    await project.call("Echo", text="hi")
    assert len(pids.read_text().split()) == 2
    assert not [pid for pid in pids.read_text().split() if is_running(pid)]


async def test_another_exit_code_with_json_that_decides_is_a_decision(project):
    own = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "No."}
    project.hook("PreToolUse", project.answer({"hookSpecificOutput": own}, code=1))
    assert "Echo was denied. No." in (await project.call("Echo", text="hi")).text


@pytest.mark.parametrize(("on_error", "word"), [(None, "allow"), ("deny", "deny")])
async def test_an_allow_from_a_guard_that_crashed_does_not_count(project, on_error, word):
    own = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    more = {"onError": on_error} if on_error else {}
    project.hook("PreToolUse", project.answer({"hookSpecificOutput": own}, code=1), **more)
    assert (await project.call("Bash", command="true")).decision.word == word


async def test_plain_text_is_no_answer_and_no_failure(project):
    project.hook("PreToolUse", "echo all is well", onError="deny")
    assert (await project.call("Echo", text="hi")).text == "hi"


@pytest.mark.parametrize("kind", ["http", "mcp_tool", "prompt", "agent", "carrier pigeon"])
async def test_a_handler_that_cannot_be_run_asks_and_is_reported_once(project, kind, caplog):
    project.hook("PreToolUse", {"type": kind, "url": "ftp://127.0.0.1:9/"})
    turns = [[{"type": "tool_use", "name": "Echo", "input": {"text": "hi"}}]] * 2
    outcome, _ = await project.talk("Go", *turns, [{"type": "text", "text": "Done."}])
    assert outcome.text == "Done."
    assert [question.decision.layer for question in project.person.asked] == ["hooks", "hooks"]
    assert sum(kind in notice for notice in project.person.notices()) == 1


@pytest.mark.parametrize(
    ("handler", "on_error", "word"),
    [
        ({"type": "http"}, "deny", "deny"),
        ({"type": "http"}, "allow", "allow"),
        ({"type": "command"}, None, "ask"),
        ({"type": "command", "command": "true", "args": "x"}, None, "ask"),
        ({"type": "command", "command": "true", "shell": "fish"}, None, "ask"),
        ("true", "not an object", "ask"),
    ],
)
async def test_a_handler_that_cannot_be_read_is_never_ignored(project, handler, on_error, word):
    project.person.answer = None
    given = {**handler, "onError": on_error} if isinstance(handler, dict) and on_error else handler
    project.hook("PreToolUse", [given] if isinstance(given, str) else given)
    result = await project.call("Echo", text="hi")
    asked = bool(project.person.asked)
    assert ("ask" if asked else "deny" if result.is_error else "allow") == word


async def test_a_hook_of_a_host_without_processes_asks(project):
    project.hook("PreToolUse", "true")
    project.person.answer = None
    made = project.board()
    result = await made.dispatch(Call("1", "Echo", {"text": "hi"}), made.context(services=Services()))
    assert (result.code, len(project.person.asked)) == ("permission_denied", 1)
