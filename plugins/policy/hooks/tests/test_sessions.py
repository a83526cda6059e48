"""SessionStart, UserPromptSubmit, Stop, SessionEnd, through real sessions; and what ends them."""

import anyio
import pytest

from pegboard_session import ReplayProvider, Session, Transcript

DONE = [{"type": "text", "text": "Done."}]


def use(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


def own(event, **said):
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def texts(message):
    return [block["text"] for block in message["content"] if block["type"] == "text"]


async def test_what_hooks_print_at_the_start_and_at_a_prompt_is_read_by_the_model(project):
    project.hook("SessionStart", "echo The branch is main.")
    project.hook("SessionStart", project.answer(own("SessionStart", additionalContext="Two tests fail.")))
    project.hook("UserPromptSubmit", "echo It is late.")
    _, session = await project.talk("Hi", DONE)
    assert texts(session.messages[0]) == ["The branch is main.\nTwo tests fail.", "Hi", "It is late."]


@pytest.mark.parametrize(
    ("matcher", "runs"), [("startup", True), ("resume", False), ("startup|resume", True), ("", True)]
)
async def test_a_matcher_at_the_start_is_about_its_source(project, matcher, runs):
    project.hook("SessionStart", "echo hello", matcher=matcher)
    _, session = await project.talk("Hi", DONE)
    assert ("hello" in texts(session.messages[0])) is runs


async def test_standard_input_of_session_events(project, lines, tmp_path):
    script, log = project.recorder()
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"):
        project.hook(event, script, timeout=60)
    path = tmp_path / "talk.jsonl"
    await project.talk("Hi", [use("Echo", text="x")], DONE, transcript=Transcript(path))
    start, prompt, call, stop, end = lines(log)
    common = {"session_id": "s1", "cwd": str(project.root), "permission_mode": "default"}
    common |= {"transcript_path": str(tmp_path / "talk/hooks/main.jsonl"), "session_transcript_path": str(path)}
    for read in (start, prompt, call, stop, end):
        assert common.items() <= read.items()
    assert (start["hook_event_name"], start["source"]) == ("SessionStart", "startup")
    assert (prompt["hook_event_name"], prompt["prompt"]) == ("UserPromptSubmit", "Hi")
    assert prompt["prompt_id"] == call["prompt_id"] == stop["prompt_id"] != start["prompt_id"]
    assert (stop["hook_event_name"], stop["stop_hook_active"]) == ("Stop", False)
    assert stop["last_assistant_message"] == "Done."
    assert (end["hook_event_name"], end["reason"]) == ("SessionEnd", "other")


@pytest.mark.parametrize("how", ["exit 2", "decision", "continue"])
async def test_a_prompt_can_be_kept_from_the_model(project, how):
    said = {
        "exit 2": project.script("#!/bin/sh\necho 'No secrets.' >&2\nexit 2\n"),
        "decision": project.answer({"decision": "block", "reason": "No secrets."}),
        "continue": project.answer({"continue": False, "stopReason": "No secrets."}),
    }
    project.hook("UserPromptSubmit", said[how])
    outcome, session = await project.talk("The key is hunter2")
    assert (outcome.stopped_by, outcome.text, session.messages) == ("blocked", "No secrets.", [])


@pytest.mark.parametrize(("on_error", "stopped_by"), [(None, "end"), ("deny", "blocked")])
async def test_a_failing_prompt_hook_blocks_only_on_request(project, on_error, stopped_by):
    project.hook("UserPromptSubmit", "exit 1", **({"onError": on_error} if on_error else {}))
    outcome, _ = await project.talk("Hi", DONE)
    assert outcome.stopped_by == stopped_by


async def test_a_stop_hook_sends_the_model_back_and_knows_that_it_did(project, lines):
    log = project.home / "stops"
    script = project.script(
        f"said = json.load(sys.stdin)\nopen({str(log)!r}, 'a').write(json.dumps(said) + chr(10))\n"
        "if not said['stop_hook_active']:\n    sys.stderr.write('Run the tests first.')\n    sys.exit(2)"
    )
    project.hook("Stop", script)
    outcome, session = await project.talk("Hi", DONE, [{"type": "text", "text": "Tested."}])
    assert (outcome.text, texts(session.messages[2])) == ("Tested.", ["Run the tests first."])
    assert [read["stop_hook_active"] for read in lines(log)] == [False, True]


async def test_continue_false_has_the_last_word_when_the_model_stops(project):
    project.hook("Stop", project.answer({"decision": "block", "reason": "Go on."}))
    project.hook("Stop", project.answer({"continue": False, "stopReason": "Enough."}))
    outcome, _ = await project.talk("Hi", DONE)
    assert outcome.stopped_by == "end"


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_continue_false_around_a_call_ends_the_conversation(project, event):
    project.hook(event, project.answer({"continue": False, "stopReason": "Over budget."}), matcher="Echo")
    first = [use("Echo", text="one"), use("Write", file_path="late.txt", content="x")]
    outcome, session = await project.talk("Hi", first, DONE)
    assert (outcome.stopped_by, outcome.text) == ("hook", "Over budget.")
    results = [block for block in session.messages[2]["content"] if block["type"] == "tool_result"]
    assert bool(results[0].get("is_error")) is (event == "PreToolUse")
    assert results[1]["is_error"]
    assert not (project.root / "late.txt").exists()


async def test_continue_false_at_the_start_takes_no_prompt(project):
    project.hook("SessionStart", project.answer({"continue": False, "stopReason": "Closed on Sundays."}))
    outcome, _ = await project.talk("Hi")
    assert (outcome.stopped_by, outcome.text) == ("blocked", "Closed on Sundays.")


async def test_an_interrupting_denial_ends_the_conversation(project):
    said = {"behavior": "deny", "message": "Stop here.", "interrupt": True}
    project.hook("PermissionRequest", project.answer(own("PermissionRequest", decision=said)))
    outcome, _ = await project.talk("Hi", [use("Bash", command="true")], DONE)
    assert (outcome.stopped_by, outcome.text) == ("hook", "Stop here.")


async def test_messages_for_the_person_reach_the_person(project):
    project.hook("SessionStart", project.answer({"systemMessage": "Two hooks are active."}))
    project.hook("PreToolUse", project.answer({"systemMessage": "Checked."}), statusMessage="Checking…")
    await project.talk("Hi", [use("Echo", text="x")], DONE)
    assert project.person.notices() == ["Two hooks are active.", "Checking…", "Checked."]


async def test_once_has_no_meaning_in_settings(project, lines):
    script, log = project.recorder()
    project.hook("PreToolUse", script, once=True)
    await project.talk("Hi", [use("Echo", text="x")], [use("Echo", text="z")], DONE)
    assert len(lines(log)) == 2


async def test_an_async_hook_is_not_waited_for(project):
    """The hook ends only after the call has: it waits for the file that the call writes."""
    script = project.script(
        "import time\nfile = json.load(sys.stdin)['tool_input']['file_path']\n"
        "while not os.path.exists(file):\n    time.sleep(0.005)\n"
        "open(file + '.seen', 'w').close()\nprint(json.dumps({'decision': 'block'}))"
    )
    project.hook("PreToolUse", script, **{"async": True})
    file = project.root / "notes.txt"

    async def seen():
        while not file.with_suffix(".txt.seen").exists():
            await anyio.sleep(0.005)

    provider = ReplayProvider([{"content": [use("Write", file_path="notes.txt", content="x")]}, {"content": DONE}])
    async with Session(project.board(), provider) as session:
        outcome = await session.run("Hi")
        with anyio.fail_after(20):
            await seen()
    assert outcome.text == "Done."


async def test_two_sessions_at_once_keep_their_states_apart(project):
    script = project.script('#!/bin/sh\nsed \'s/.*"session_id": "\\([^"]*\\)".*/\\1/\'\n')
    project.hook("UserPromptSubmit", script)
    settings, seen = project.settings(), {}

    async def one(name):
        board = project.board(settings=settings)
        async with Session(board, ReplayProvider([{"content": DONE}]), session_id=name) as session:
            await session.run("Hi")
            seen[name] = texts(session.messages[0])

    async with anyio.create_task_group() as group:
        for name in ("a", "b"):
            group.start_soon(one, name)
    assert seen == {"a": ["Hi", "a"], "b": ["Hi", "b"]}


@pytest.mark.parametrize("ending", ["clear", "resume", "prompt_input_exit", "", "something new"])
async def test_the_end_of_a_session_has_a_reason(project, lines, ending):
    script, log = project.recorder()
    project.hook("SessionEnd", script)
    project.hook("SessionEnd", script + " ", matcher="clear|resume")
    async with Session(project.board(), ReplayProvider([])) as session:
        session.ending = ending
    known = ending if ending in ("clear", "resume", "prompt_input_exit") else "other"
    assert [read["reason"] for read in lines(log)] == [known] * (2 if ending in ("clear", "resume") else 1)


async def test_a_session_that_follows_another_begins_with_clear(project, lines):
    script, log = project.recorder()
    project.hook("SessionStart", script, matcher="clear")
    for source in ("startup", "clear"):
        session = Session(project.board(), ReplayProvider([]))
        session.source = source
        async with session:
            pass
    assert [read["source"] for read in lines(log)] == ["clear"]
