"""PreCompact and PostCompact, through real sessions that compact their conversation."""

import pytest

from pegboard_session import ReplayProvider, Session


def own(event, **said):
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


async def compact(project, what_to_keep="", turns=3):
    """A session with a few prompts that is compacted; the script's last turn is the summary."""
    said = [{"content": [{"type": "text", "text": f"Answer {number}."}]} for number in range(turns)]
    provider = ReplayProvider([*said, {"content": [{"type": "text", "text": "SUMMARY"}]}])
    async with Session(project.board(), provider, session_id="s1") as session:
        for number in range(turns):
            await session.run(f"Prompt {number}")
        done = await session.compact(what_to_keep)
    return done, session, provider


def texts(message):
    return [block["text"] for block in message["content"] if block["type"] == "text"]


async def test_standard_input_of_both_events_and_of_the_start_after_them(project, lines):
    script, log = project.recorder()
    for event in ("SessionStart", "PreCompact", "PostCompact"):
        project.hook(event, script)
    done, _, _ = await compact(project, "the port")
    assert done.done
    start, pre, post, again = lines(log)
    assert (start["hook_event_name"], start["source"]) == ("SessionStart", "startup")
    assert (pre["hook_event_name"], pre["trigger"], pre["custom_instructions"]) == ("PreCompact", "manual", "the port")
    assert (post["hook_event_name"], post["trigger"], post["compact_summary"]) == ("PostCompact", "manual", "SUMMARY")
    assert (again["hook_event_name"], again["source"]) == ("SessionStart", "compact")
    assert all(read["session_id"] == "s1" for read in (pre, post, again))


@pytest.mark.parametrize(("matcher", "runs"), [("manual", True), ("auto", False), ("manual|auto", True)])
async def test_a_matcher_is_about_who_wants_it(project, lines, matcher, runs):
    script, log = project.recorder()
    project.hook("PreCompact", script, matcher=matcher)
    await compact(project)
    assert bool(lines(log)) is runs


@pytest.mark.parametrize("how", ["exit 2", "decision", "onError"])
async def test_a_hook_can_prevent_it_and_nothing_changes(project, how):
    fields = {"onError": "deny"} if how == "onError" else {}
    said = {
        "exit 2": project.script("#!/bin/sh\necho 'Not now.' >&2\nexit 2\n"),
        "decision": project.answer({"decision": "block", "reason": "Not now."}),
        "onError": "exit 1",
    }
    project.hook("PreCompact", said[how], **fields)
    done, session, provider = await compact(project)
    assert not done.done
    assert ("Not now." in done.why) or how == "onError"
    assert len(session.messages) == 6
    assert len(provider.requests) == 3


async def test_what_a_hook_prints_is_for_the_model_that_summarises(project):
    project.hook("PreCompact", "echo Keep the names of all ports.")
    _, _, provider = await compact(project)
    assert "Keep this in particular: Keep the names of all ports." in texts(provider.requests[-1].messages[-1])[-1]


async def test_what_start_hooks_say_again_stands_after_the_summary(project):
    project.hook("SessionStart", project.answer(own("SessionStart", additionalContext="Speak French.")))
    _, session, _ = await compact(project)
    assert "Speak French." in texts(session.messages[0])[1:-1]


async def test_a_failing_hook_prevents_nothing(project):
    project.hook("PreCompact", "exit 1")
    project.hook("PostCompact", "exit 2")
    done, _, _ = await compact(project)
    assert done.done
