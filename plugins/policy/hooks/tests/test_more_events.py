"""Notification, PostToolBatch, CwdChanged, StopFailure, the transcript for scripts, and variables for commands."""

import json
from dataclasses import replace

import pytest

from pegboard import Call, Change, Context, Input, Output, ProviderError, tool
from pegboard_hooks.protocol import EVENTS, NOT_FIRED, timeout_of
from pegboard_hooks.transcript_view import TranscriptView
from pegboard_session import ReplayProvider, Session

DONE = [{"type": "text", "text": "Done."}]
ALL_EVENTS = """
SessionStart Setup UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied PostToolUse
PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted Stop
StopFailure TeammateIdle InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate
WorktreeRemove PreCompact PostCompact Elicitation ElicitationResult SessionEnd
""".split()


def use(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


def own(event, **said):
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def test_every_event_of_the_protocol_is_fired_or_named():
    assert sorted((*EVENTS, *NOT_FIRED)) == sorted(ALL_EVENTS)


@pytest.mark.parametrize(
    ("kind", "event", "given", "seconds"),
    [
        ("command", "PreToolUse", None, 600),
        ("prompt", "PreToolUse", None, 30),
        ("agent", "Stop", None, 60),
        ("command", "UserPromptSubmit", None, 30),
        ("command", "UserPromptSubmit", 300, 300),
        ("command", "SessionEnd", None, 1.5),
        ("http", "SessionEnd", 90, 60),
    ],
)
def test_how_long_a_handler_may_take(kind, event, given, seconds):
    assert timeout_of(kind, event, given) == seconds


@pytest.mark.parametrize("answered", [True, False])
async def test_a_person_who_is_asked_is_notified_unless_a_hook_answers(project, lines, answered):
    script, log = project.recorder()
    project.hook("Notification", script, matcher="permission_prompt")
    if answered:
        project.hook("PermissionRequest", project.answer(own("PermissionRequest", decision={"behavior": "allow"})))
    await project.call("Bash", command="true")
    assert [read["notification_type"] for read in lines(log)] == ([] if answered else ["permission_prompt"])
    assert all(read["message"] == "Pegboard needs your permission to use Bash." for read in lines(log))


async def test_all_results_of_a_turn_come_together_and_context_follows_them(project, lines):
    script, log = project.recorder()
    project.hook("PostToolBatch", script, project.answer(own("PostToolBatch", additionalContext="Both are short.")))
    _, session = await project.talk("Hi", [use("Echo", text="a"), use("Echo", text="b")], DONE)
    (read,) = lines(log)
    assert [(call["tool_input"], call["tool_response"]) for call in read["tool_calls"]] == [
        ({"text": "a"}, "a"),
        ({"text": "b"}, "b"),
    ]
    assert session.messages[2]["content"][-1] == {"type": "text", "text": "Both are short."}


async def test_a_blocked_batch_ends_the_conversation(project):
    project.hook("PostToolBatch", "echo Enough. >&2; exit 2")
    outcome, _ = await project.talk("Hi", [use("Echo", text="a")], DONE)
    assert (outcome.stopped_by, outcome.text) == ("hook", "Enough.")


async def test_a_new_working_directory_is_an_event(project, lines):
    class NoInput(Input):
        pass

    @tool(name="Move", read_only=True, open_world=False)
    def move(args: NoInput, ctx: Context) -> Output[str]:
        """Go to the folder below."""
        return Output("moved", change=Change(cwd=project.root / "below"))

    (project.root / "below").mkdir()
    script, log = project.recorder()
    project.hook("CwdChanged", script)
    provider = [{"content": [use("Move")]}, {"content": [use("Echo", text="x")]}, {"content": DONE}]
    async with Session(project.board(tools=[move]), ReplayProvider(provider)) as session:
        await session.run("Go")
    (read,) = lines(log)
    assert (read["old_cwd"], read["new_cwd"]) == (str(project.root), str(project.root / "below"))


class Refusing:
    """A provider that has no capacity."""

    name = "refusing"

    def stream(self, request):
        raise ProviderError("Too many requests.", kind="rate_limit")


async def test_a_model_that_cannot_be_asked_is_an_event(project, lines):
    script, log = project.recorder()
    project.hook("StopFailure", script, matcher="rate_limit")
    project.hook("Stop", script)
    async with Session(project.board(), Refusing()) as session:
        with pytest.raises(ProviderError):
            await session.run("Hi")
    (read,) = lines(log)
    assert (read["hook_event_name"], read["error"]) == ("StopFailure", "rate_limit")
    assert "Too many requests." in read["error_details"]


async def test_scripts_find_the_conversation_in_the_form_that_they_know(project):
    shown = project.home / "shown"
    find = """grep '"role":"assistant"' "$(jq -r .transcript_path)" | tail -n 1 | jq -r '.message.content[0].text'"""
    project.hook("Stop", f"{find} >> {shown}")
    await project.talk("Hi", [*DONE, use("Echo", text="x")], [{"type": "text", "text": "All done."}])
    assert shown.read_text() == "All done.\n"


async def test_the_view_is_written_anew_when_the_conversation_was_summarised(project, tmp_path):
    view, ctx = TranscriptView(tmp_path / "x/view.jsonl"), project.board().context()
    messages = [{"role": "user", "content": [{"type": "text", "text": str(number)}]} for number in range(3)]
    for talk in (messages[:2], messages, [{"role": "user", "content": []}, messages[2]]):
        view.update(talk, ctx, "s1")
        read = [json.loads(line)["message"] for line in view.path.read_text().splitlines()]
        assert read == talk
    assert view.path.stat().st_mode & 0o777 == 0o600


async def test_variables_that_a_start_hook_exports_are_those_of_commands(project):
    wanted = ["export MARK='a b'", "PLAIN=c", 'export PATH="/opt/x:$PATH"', "BASH_ENV=/x", "f() { :; }; export -f f"]
    wanted += ["GLOBIGNORE=*", "POSIXLY_CORRECT=1"]  # They change how bash reads commands.
    project.hook("SessionStart", f"printf '%s\\n' {' '.join(map(json.dumps, wanted[:2]))} >> $CLAUDE_ENV_FILE")
    script = project.script(
        "open(os.environ['CLAUDE_ENV_FILE'], 'a').write(" + repr("\n".join(wanted[2:]) + "\n") + ")"
    )
    project.hook("SessionStart", script)
    board = project.board()
    async with Session(board, ReplayProvider([])) as session:
        found = session.ctx.service("shell_environment")
    assert (found["MARK"], found["PLAIN"]) == ("a b", "c")
    assert found["PATH"].startswith("/opt/x:")
    assert set(found) == {"MARK", "PLAIN", "PATH"}


async def test_a_broken_file_of_variables_is_reported_and_stops_nothing(project):
    project.hook("SessionStart", "echo 'export A=1; no-such-thing' >> $CLAUDE_ENV_FILE")
    await project.talk("Hi", DONE)
    assert any("CLAUDE_ENV_FILE" in notice for notice in project.person.notices())


async def test_exec_form_fills_in_the_project_and_leaves_other_words_alone(project, lines):
    script, _ = project.recorder()
    log = project.home / "argv"
    script = project.script(f"open({str(log)!r}, 'w').write(json.dumps(sys.argv[1:]))")
    words = ["${CLAUDE_PROJECT_DIR}/x", "$CLAUDE_PROJECT_DIR", "${HOME}", "$(id)"]
    project.hook("PreToolUse", {"command": script, "args": words})
    await project.call("Echo", text="hi")
    assert json.loads(log.read_text()) == [f"{project.root}/x", *words[1:]]


async def test_a_context_that_no_session_made_has_an_id_too(project, lines):
    script, log = project.recorder()
    project.hook("PreToolUse", script, '[ "$CLAUDE_CODE_SESSION_ID" ] || exit 2')
    board = project.board()
    ctx = replace(board.context(), session_id="")
    assert not (await board.dispatch(Call("1", "Echo", {"text": "x"}), ctx)).is_error
    assert lines(log)[0]["session_id"]
