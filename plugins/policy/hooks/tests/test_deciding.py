"""PreToolUse: who may decide what, and what wins."""

import json

import pytest

from pegboard import Allow, Before, Deny, hookimpl


def decide(word, reason="Because.", **more):
    own = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason, **more}
    return {"hookSpecificOutput": own}


async def test_exit_2_blocks_and_the_model_reads_what_was_said_on_stderr(project):
    project.hook("PreToolUse", project.script("#!/bin/sh\necho 'Not on a Friday.' >&2\nexit 2\n"))
    result = await project.call("Echo", text="hi")
    assert result.text == "Echo was denied. Not on a Friday. Continue without it, or ask the user."
    assert (result.code, result.decision.layer) == ("permission_denied", "hooks")
    assert result.decision.source == str(project.files["user"])


async def test_json_cannot_lift_exit_2(project):
    project.hook("PreToolUse", project.answer(decide("allow"), code=2))
    assert (await project.call("Echo", text="hi")).code == "permission_denied"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (decide("deny"), "denied"),
        (decide("ask"), "asked"),
        (decide("defer"), "asked"),
        (decide("allow"), "ran"),
        ({"decision": "block", "reason": "Because."}, "denied"),
        ({"decision": "approve", "reason": "Because."}, "ran"),
        ({**decide("allow"), "decision": "block"}, "denied"),
        ({}, "asked by default"),
    ],
)
async def test_each_decision_of_either_spelling(project, said, outcome):
    project.hook("PreToolUse", project.answer(said))
    result = await project.call("Bash", command="true")
    asked = [(question.decision.layer, question.decision.reason) for question in project.person.asked]
    if outcome == "denied":
        assert "Because." in result.text
        assert not asked
    elif outcome == "asked":
        assert asked == [("hooks", "Because.")]
    elif outcome == "ran":
        assert (result.decision.word, result.decision.layer, asked) == ("allow", "hooks", [])
    else:
        assert asked == [("default", "Bash can change something.")]


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("allow", "ask", "deny"), "deny"),
        (("allow", "defer"), "ask"),
        (("allow", "ask"), "ask"),
        (("allow", "allow"), "allow"),
    ],
)
async def test_of_several_hooks_the_strictest_counts(project, words, outcome):
    project.person.answer = None
    project.hook("PreToolUse", *[project.answer(decide(word, f"{word}!")) for word in words])
    result = await project.call("Bash", command="true")
    asked = bool(project.person.asked)
    assert ("allow" if not result.is_error else "ask" if asked else "deny") == outcome


@pytest.mark.parametrize("kind", ["deny", "ask"])
async def test_an_allow_of_a_hook_never_beats_a_rule(project, kind):
    project.person.answer = None
    project.set(permissions={kind: ["Bash(git push *)"]})
    project.hook("PreToolUse", project.answer(decide("allow")))
    result = await project.call("Bash", command="git push origin")
    assert (result.code, len(project.person.asked)) == ("permission_denied", int(kind == "ask"))
    assert "the rule Bash(git push *)" in result.text


async def test_an_ask_of_a_hook_holds_even_where_nobody_else_asks(project):
    project.person.answer = Deny("by hand")
    project.set(permissions={"allow": ["Bash"]})
    project.hook("PreToolUse", project.answer(decide("ask")))
    assert (await project.call("Bash", command="true", mode="bypassPermissions")).code == "permission_denied"


async def test_a_rewritten_input_is_what_runs_and_is_validated(project):
    new = decide("allow", updatedInput={"command": "echo rewritten"})
    project.hook("PreToolUse", project.answer(new))
    assert (await project.call("Bash", command="false")).text == "rewritten\n"

    project.hook("PreToolUse", project.answer(decide("allow", updatedInput={"commnd": "x"})))
    assert (await project.call("Bash", command="true")).code == "invalid_input"


async def test_a_rewritten_input_is_judged_by_the_rules(project):
    project.set(permissions={"deny": ["Bash(rm *)"]})
    project.hook("PreToolUse", project.answer(decide("allow", updatedInput={"command": "rm -r x"})))
    result = await project.call("Bash", command="true")
    assert "the rule Bash(rm *)" in result.text


async def test_a_rewrite_voids_the_allow_of_another_hook_and_of_another_plugin(project):
    class Approves:
        @hookimpl(priority=-1)
        def before_call(self):
            return Before(decision=Allow("fine"))

    rewrite = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo other"}}}
    project.hook("PreToolUse", project.answer(decide("allow")), project.answer(rewrite))
    result = await project.call("Bash", Approves(), command="true")
    assert [question.input["command"] for question in project.person.asked] == ["echo other"]
    assert result.text == "other\n"


async def test_a_rewrite_does_not_void_a_deny(project):
    rewrite = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo other"}}}
    project.hook("PreToolUse", project.answer(decide("deny")), project.answer(rewrite))
    assert (await project.call("Bash", command="true")).code == "permission_denied"


async def test_additional_context_is_added_for_the_model(project):
    own = {"hookEventName": "PreToolUse", "additionalContext": "Tabs are wanted here."}
    project.hook("PreToolUse", project.answer({"hookSpecificOutput": own}))
    result = await project.call("Echo", text="hi")
    assert [block.text for block in result.content] == ["hi", "Tabs are wanted here."]


@pytest.mark.parametrize(
    "said",
    [
        decide("denied"),
        {"hookSpecificOutput": "deny"},
        {"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "allow"}},
        {"decision": "no"},
        {"decision": ["block"]},
        {"continue": "no"},
        decide("allow", updatedInput="rm"),
    ],
)
async def test_an_answer_that_means_to_decide_and_is_not_understood_asks(project, said):
    project.hook("PreToolUse", project.answer(said))
    await project.call("Echo", text="hi")
    (question,) = project.person.asked
    assert "returned an invalid answer" in question.decision.reason


async def test_handlers_run_side_by_side(project):
    """Each of two waits until the other has begun: one after another they would wait for ever."""
    meet = """
import time
mine, other = sys.argv[1:]
open(mine, "w").close()
while not os.path.exists(other):
    time.sleep(0.005)
"""
    script, one, two = project.script(meet), project.home / "one", project.home / "two"
    fields = {"type": "command", "command": script, "timeout": 20, "onError": "deny"}
    project.hook("PreToolUse", {**fields, "args": [str(one), str(two)]}, {**fields, "args": [str(two), str(one)]})
    assert (await project.call("Echo", text="hi")).text == "hi"


async def test_standard_input_has_every_documented_field(project, lines):
    script, log = project.recorder()
    project.hook("PreToolUse", script)
    await project.call("Write", file_path="notes.txt", content="x", mode="acceptEdits")
    (read,) = lines(log)
    assert read.pop("prompt_id")
    assert read == {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(project.root),
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(project.root / "notes.txt"), "content": "x"},
        "tool_use_id": "toolu_1",
    }


async def test_commands_find_the_project_and_no_secrets(project, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "hunter2")
    script = project.script("open(os.path.join(os.environ['HOME_FILE']), 'w').write(json.dumps(dict(os.environ)))")
    file = project.home / "env.json"
    project.hook("PreToolUse", f"HOME_FILE={file} {script}")
    await project.call("Echo", text="hi")
    env = json.loads(file.read_text())
    assert env["CLAUDE_PROJECT_DIR"] == env["PEGBOARD_PROJECT_DIR"] == str(project.root)
    assert "ACME_API_KEY" not in env


async def test_a_sandbox_holds_for_hooks_too(project):
    wrapped = []

    class Sandbox:
        @hookimpl
        def wrap_process(self, spec, ctx):
            wrapped.append((spec.argv[-1], spec.writable))

    script = project.script("pass")
    project.hook("PreToolUse", script)
    await project.call("Echo", Sandbox(), text="hi")
    assert wrapped == [(script, (project.root,))]


async def test_a_guard_that_a_broken_sandbox_keeps_from_running_asks(project):
    class Broken:
        @hookimpl
        def wrap_process(self, spec):
            raise OSError("no bubblewrap")

    project.person.answer = None
    project.hook("PreToolUse", "true")
    assert "It could not be started: OSError." in (await project.call("Echo", Broken(), text="hi")).text


async def test_a_broken_sandbox_after_a_call_does_not_make_it_a_failure(project):
    class Broken:
        @hookimpl
        def wrap_process(self, spec):
            raise OSError("no bubblewrap")

    project.hook("PostToolUse", "true")
    assert (await project.call("Echo", Broken(), text="hi")).text == "hi"


async def test_exec_form_needs_no_shell_and_quotes_nothing(project, lines):
    file = project.home / "argv"
    script = project.script(f"open({str(file)!r}, 'w').write(json.dumps(sys.argv[1:]))")
    project.hook("PreToolUse", {"type": "command", "command": script, "args": ["$HOME", "a b", "; true"]})
    await project.call("Echo", text="hi")
    assert json.loads(file.read_text()) == ["$HOME", "a b", "; true"]


@pytest.mark.parametrize(("shell", "seen"), [("sh", "sh"), ("bash", "bash"), (None, "bash")])
async def test_the_shell_can_be_chosen(project, shell, seen):
    file = project.home / "shell"
    handler = {"type": "command", "command": f'basename "$0" > {file}', **({"shell": shell} if shell else {})}
    project.hook("PreToolUse", handler)
    await project.call("Echo", text="hi")
    assert file.read_text().strip() == seen
