"""PostToolUse, PostToolUseFailure, PermissionDenied and PermissionRequest."""

import pytest

from pegboard import Call, Deny


def own(event, **said):
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


async def test_standard_input_after_a_call(project, lines):
    script, log = project.recorder()
    project.hook("PostToolUse", script)
    await project.call("Write", file_path="notes.txt", content="x")
    (read,) = lines(log)
    path = str(project.root / "notes.txt")
    assert read["hook_event_name"] == "PostToolUse"
    assert read["tool_input"] == {"file_path": path, "content": "x"}
    assert read["tool_response"] == {"file_path": path, "content": "x"}
    assert (read["tool_name"], read["tool_use_id"], type(read["duration_ms"])) == ("Write", "toolu_1", int)


async def test_after_a_rewrite_the_input_that_ran_is_shown(project, lines):
    script, log = project.recorder()
    project.hook("PostToolUse", script)
    project.hook("PreToolUse", project.answer(own("PreToolUse", updatedInput={"text": "other"})))
    await project.call("Echo", text="hi")
    assert lines(log)[0]["tool_input"] == {"text": "other"}


async def test_additional_context_follows_the_result(project):
    project.hook("PostToolUse", project.answer(own("PostToolUse", additionalContext="Mind the gap.")))
    result = await project.call("Echo", text="hi")
    assert [block.text for block in result.content] == ["hi", "Mind the gap."]


@pytest.mark.parametrize("how", ["exit 2", "decision"])
async def test_a_block_comes_too_late_and_is_told_to_the_model(project, how):
    blocks = project.script("#!/bin/sh\necho 'The build is red.' >&2\nexit 2\n")
    decides = project.answer({"decision": "block", "reason": "The build is red."})
    project.hook("PostToolUse", blocks if how == "exit 2" else decides)
    result = await project.call("Echo", text="hi")
    assert ([block.text for block in result.content], result.is_error) == (["hi", "The build is red."], False)


async def test_an_updated_output_replaces_the_value(project):
    changed = {"file_path": "notes.txt", "content": "formatted"}
    project.hook("PostToolUse", project.answer(own("PostToolUse", updatedToolOutput=changed)))
    result = await project.call("Write", file_path="notes.txt", content="x")
    assert (result.text, result.value.content) == ("Wrote 'formatted'.", "formatted")


@pytest.mark.parametrize("output", [{"content": 1}, "text", None])
async def test_an_updated_output_must_fit_the_tool(project, output):
    project.hook("PostToolUse", project.answer(own("PostToolUse", updatedToolOutput=output)))
    result = await project.call("Write", file_path="notes.txt", content="x")
    assert result.is_error
    assert "where Write promises WriteOutput" in result.text


async def test_a_failing_hook_after_a_call_changes_nothing(project):
    project.hook("PostToolUse", project.script("sys.exit(1)"))
    assert (await project.call("Echo", text="hi")).text == "hi"


async def test_a_failed_call_is_shown_with_its_error(project, lines):
    script, log = project.recorder()
    project.hook("PostToolUseFailure", script)
    project.hook("PermissionDenied", "exit 2")
    project.hook("PostToolUseFailure", project.answer(own("PostToolUseFailure", additionalContext="Try make.")))
    result = await project.call("Bash", command="exit 3")
    (read,) = lines(log)
    assert (read["hook_event_name"], read["tool_input"]) == ("PostToolUseFailure", {"command": "exit 3"})
    assert (read["error"], read["is_interrupt"]) == ("The command exited with code 3.", False)
    assert [block.text for block in result.content] == ["The command exited with code 3.", "Try make."]


async def test_a_call_that_never_was_valid_is_shown_as_it_was_sent(project, lines):
    script, log = project.recorder()
    project.hook("PostToolUseFailure", script)
    await project.call("Echo", words="hi")
    await project.call("Nothing", words="hi")
    assert [(read["tool_name"], read["tool_input"]) for read in lines(log)] == [
        ("Echo", {"words": "hi"}),
        ("Nothing", {"words": "hi"}),
    ]


async def test_a_denied_call_is_shown_with_its_reason_and_may_be_tried_again(project, lines):
    script, log = project.recorder()
    project.hook("PermissionDenied", script, project.answer(own("PermissionDenied", retry=True)))
    project.hook("PostToolUseFailure", "exit 2")
    project.set(permissions={"deny": ["Bash(rm *)"]}, hooks=project.settings().get("hooks"))
    result = await project.call("Bash", command="rm x")
    (read,) = lines(log)
    assert read["hook_event_name"] == "PermissionDenied"
    assert "the rule Bash(rm *)" in read["reason"]
    assert result.content[-1].text == "A hook says that you may retry this call."


async def test_a_permission_request_is_answered_before_the_person_is_asked(project, lines):
    script, log = project.recorder()
    project.hook("PermissionRequest", script, project.answer(own("PermissionRequest", decision={"behavior": "allow"})))
    result = await project.call("Bash", command="echo hi")
    (read,) = lines(log)
    assert (result.text, project.person.asked) == ("hi\n", [])
    assert (read["tool_name"], read["tool_input"]) == ("Bash", {"command": "echo hi"})
    assert "tool_use_id" not in read
    rules = [rule for one in read["permission_suggestions"] for rule in one["rules"]]
    assert rules in ([], [{"toolName": "Bash", "ruleContent": "echo hi"}])


@pytest.mark.parametrize("path", [".git/config", ".pegboard/settings.json"])
async def test_a_hook_cannot_approve_what_a_safety_check_asks(project, path):
    project.person.answer = None
    project.hook("PermissionRequest", project.answer(own("PermissionRequest", decision={"behavior": "allow"})))
    result = await project.call("Write", file_path=path, content="x")
    assert (result.code, len(project.person.asked)) == ("permission_denied", 1)
    assert project.person.asked[0].decision.layer == "protected-path"


async def test_a_permission_request_can_be_denied_with_a_message(project):
    said = {"behavior": "deny", "message": "Ask the release team."}
    allow = project.answer(own("PermissionRequest", decision={"behavior": "allow"}))
    project.hook("PermissionRequest", allow, project.answer(own("PermissionRequest", decision=said)))
    result = await project.call("Bash", command="true")
    assert "Bash was denied. Ask the release team." in result.text


@pytest.mark.parametrize("how", ["says nothing", "exits with 2", "is not understood"])
async def test_a_permission_request_without_an_answer_goes_to_the_person(project, how):
    scripts = {
        "says nothing": "true",
        "exits with 2": "exit 2",
        "is not understood": project.answer(own("PermissionRequest", decision={"behavior": "maybe"})),
    }
    project.hook("PermissionRequest", scripts[how])
    assert (await project.call("Bash", command="echo hi")).text == "hi\n"
    assert len(project.person.asked) == 1


async def test_a_permission_request_with_another_input_is_judged_again(project):
    said = {"behavior": "allow", "updatedInput": {"command": "echo tamed"}}
    project.hook("PermissionRequest", project.answer(own("PermissionRequest", decision=said)))
    assert (await project.call("Bash", command="rm -r x")).text == "tamed\n"
    project.set(permissions={"deny": ["Bash(echo *)"]}, hooks=project.settings().get("hooks"))
    assert "the rule Bash(echo *)" in (await project.call("Bash", command="rm -r x")).text
    assert project.person.asked == []


async def test_permissions_that_a_hook_would_change_are_not_changed_and_the_person_is_told(project):
    said = {"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "bypassPermissions"}]}
    project.hook("PermissionRequest", project.answer(own("PermissionRequest", decision=said)))
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "true"}}
    _, session = await project.talk("Go", [use], [{"type": "text", "text": "Done."}])
    assert session.ctx.mode == "default"
    assert any("updatedPermissions is not supported" in notice for notice in project.person.notices())


async def test_a_hook_that_fails_on_a_permission_request_can_deny(project):
    project.person.answer = Deny("never reached")
    project.hook("PermissionRequest", "exit 1", onError="deny")
    assert "failed. It exited with code 1." in (await project.call("Bash", command="true")).text


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_a_call_with_hooks_around_it_overlaps_with_no_other(project, event):
    """A handler that counts the files twice, with a pause between: nothing else writes one meanwhile."""
    counts = project.home / "counts.txt"
    count = f"len(os.listdir({str(project.root)!r}))"
    same = f"a = {count}; time.sleep(0.2); print(a == {count}, file=open({str(counts)!r}, 'a'))"
    project.hook(event, project.script(f"import time; {same}"))
    board = project.board()
    calls = [Call(str(index), "Write", {"file_path": f"{index}.txt", "content": "x"}) for index in range(3)]
    results = await board.run(calls, board.context(session_id="s1"))
    assert [result.is_error for result in results] == [False] * 3
    assert counts.read_text().split() == ["True"] * 3
