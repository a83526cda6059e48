"""Which handlers run: matchers, `if`, layers, trust, twins, and what doctor finds."""

import json
import os
import subprocess
import sys

import pytest

import pegboard_hooks
from pegboard import Board, Call
from pegboard_hooks.matchers import matcher_of, tool_names

EVERYTHING = ("Edit", "Write", "Bash", "mcp__memory__read")


@pytest.mark.parametrize(
    ("matcher", "covered"),
    [
        (None, EVERYTHING),
        ("", EVERYTHING),
        ("*", EVERYTHING),
        ("Bash", ("Bash",)),
        ("Bas", ()),
        ("bash", ()),
        ("Edit|Write", ("Edit", "Write")),
        ("Edit, Write", ("Edit", "Write")),
        ("Edit|", ("Edit",)),
        ("mcp__memory", ()),
        ("mcp__memory__.*", ("mcp__memory__read",)),
        ("mcp__.*__read", ("mcp__memory__read",)),
        ("^(Edit|Write)$", ("Edit", "Write")),
        ("it.?", ("Edit", "Write")),
        ("B.sh|Ed[i]t", ("Edit", "Bash")),
        ("*Edit", EVERYTHING),
        ("(", EVERYTHING),
        (7, EVERYTHING),
    ],
)
def test_matchers(matcher, covered):
    matches, wrong = matcher_of(matcher)
    assert tuple(name for name in EVERYTHING if matches((name,))) == covered
    assert bool(wrong) is (matcher in ("*Edit", "(", 7))


def test_a_matcher_may_use_a_former_name():
    matches, _ = matcher_of("Task")
    assert matches(tool_names("Agent"))
    assert not matches(tool_names("Bash"))


async def test_only_matching_groups_run(project, lines):
    script, log = project.recorder()
    project.hook("PreToolUse", script, matcher="Echo|Write")
    await project.call("Bash", command="true")
    await project.call("Echo", text="hi")
    project.hook("PreToolUse", f"{script} #", matcher="Repeat")
    await project.call("Echo", text="alias")
    assert [read["tool_input"] for read in lines(log)] == [{"text": "hi"}, {"text": "alias"}, {"text": "alias"}]


@pytest.mark.parametrize(
    ("rule", "name", "given", "runs"),
    [
        ("Bash(git *)", "Bash", {"command": "git push"}, True),
        ("Bash(git *)", "Bash", {"command": "ls && git push"}, True),
        ("Bash(git *)", "Bash", {"command": "ls"}, False),
        ("Bash(git *)", "Echo", {"text": "git push"}, False),
        ("Bash", "Bash", {"command": "ls"}, True),
        ("Edit(*.ts)", "Write", {"file_path": "a.ts", "content": ""}, True),
        ("Edit(*.ts)", "Write", {"file_path": "deep/er/a.ts", "content": ""}, True),
        ("Edit(*.ts)", "Write", {"file_path": "a.py", "content": ""}, False),
        ("Edit(src/**)", "Write", {"file_path": "src/a.py", "content": ""}, True),
        ("Edit(src/**)", "Write", {"file_path": "other/src/a.py", "content": ""}, False),
        ("Write(content:x)", "Write", {"file_path": "a.py", "content": "x"}, True),
        ("Write(content:x)", "Write", {"file_path": "a.py", "content": "y"}, False),
        ("Write(*.ts)", "Write", {"file_path": "a.py", "content": ""}, False),
        ("Write(*.ts)", "Write", {"file_path": "a.ts", "content": ""}, True),
        ("Write(file_path:a.ts)", "Write", {"file_path": "a.py", "content": ""}, True),  # No call can meet it: run.
        ("Bash(((", "Echo", {"text": "hi"}, True),
    ],
)
async def test_an_if_is_one_permission_rule(project, rule, name, given, runs):
    project.hook("PreToolUse", "exit 2", **{"if": rule})
    for folder in ("src", "other/src", "deep/er"):
        (project.root / folder).mkdir(parents=True, exist_ok=True)
    assert ((await project.call(name, **given)).code == "permission_denied") is runs


async def test_an_if_holds_after_a_call_and_at_a_question_too(project, lines):
    script, log = project.recorder()
    project.hook("PostToolUse", script, **{"if": "Bash(echo *)"})
    project.hook("PermissionRequest", script, **{"if": "Bash(echo *)"})
    await project.call("Bash", command="true")
    await project.call("Bash", command="echo hi")
    assert [read["hook_event_name"] for read in lines(log)] == ["PermissionRequest", "PostToolUse"]


async def test_every_layer_adds_its_hooks_and_twins_run_once(project, lines):
    script, log = project.recorder()
    other, also = project.recorder()
    for layer in ("user", "project", "local", "managed"):
        project.hook("PreToolUse", script, layer=layer, matcher="Echo")
    project.hook("PreToolUse", script, layer="user")
    project.hook("PreToolUse", other, layer="project")
    await project.call("Echo", trusted=True, text="hi")
    assert (len(lines(log)), len(lines(also))) == (1, 1)


async def test_handlers_that_differ_are_no_twins(project, lines):
    script, log = project.recorder()
    project.hook("PreToolUse", script)
    project.hook("PreToolUse", script, timeout=5)
    await project.call("Echo", text="hi")
    assert len(lines(log)) == 2


async def test_settings_show_the_hooks_of_all_layers(project):
    project.hook("PreToolUse", "true", layer="user")
    project.hook("PreToolUse", "false", layer="managed")
    project.hook("Stop", "true", layer="user")
    groups = project.settings().get("hooks")
    assert [group["hooks"][0]["command"] for group in groups["PreToolUse"]] == ["false", "true"]
    assert list(groups) == ["PreToolUse", "Stop"]


@pytest.mark.parametrize("layer", ["project", "local"])
async def test_hooks_of_an_untrusted_repository_do_not_run(project, layer, lines):
    script, log = project.recorder()
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        project.hook(event, script, layer=layer)
    turn = [{"type": "tool_use", "name": "Echo", "input": {"text": "x"}}]
    await project.talk("Hi", turn, [{"type": "text", "text": "Done."}])
    assert lines(log) == []
    await project.call("Echo", trusted=True, text="hi")
    assert len(lines(log)) == 2


async def test_an_untrusted_repository_cannot_switch_hooks_off(project):
    project.hook("PreToolUse", "exit 2")
    project.set("project", disableAllHooks=True)
    assert (await project.call("Echo", text="hi")).is_error
    assert not (await project.call("Echo", trusted=True, text="hi")).is_error


@pytest.mark.parametrize(("switch", "runs"), [(None, ["managed", "user"]), ("user", ["managed"]), ("managed", [])])
async def test_switching_hooks_off_does_not_reach_those_of_the_owner(project, switch, runs):
    for layer in ("managed", "user"):
        project.hook("PreToolUse", f"touch {project.home / layer}.ran", layer=layer)
    if switch:
        project.set(switch, disableAllHooks=True)
    await project.call("Echo", text="hi")
    assert sorted(file.stem for file in project.home.glob("*.ran")) == runs


@pytest.mark.parametrize(
    ("event", "handler", "words"),
    [
        ("PreTolUse", "true", "There is no event 'PreTolUse'. Did you mean 'PreToolUse'?"),
        ("FileChanged", "true", "Pegboard has no event FileChanged: files are not watched. Its hooks never run."),
        ("PreToolUse", {"type": "http", "url": "x"}, "url must begin with http:// or https://, got 'x'. Calls that it"),
        ("PreToolUse", {"type": "http", "url": "http://x", "headers": ["x"]}, "headers must be an object with string"),
        ("PreToolUse", {"type": "mcp_tool", "server": "x"}, 'A handler of type mcp_tool needs a "tool".'),
        ("PreToolUse", {"type": "prompt"}, 'A handler of type prompt needs a "prompt".'),
        ("SessionStart", {"type": "agent", "prompt": "x"}, "A handler of type agent cannot run at SessionStart."),
        ("PreToolUse", {"command": "true", "once": True}, "once has no effect in settings: the hook runs every time."),
        ("SessionEnd", {"command": "true", "timeout": 90}, "timeout is at most 60 seconds at SessionEnd."),
        ("UserPromptSubmit", {"command": "true", "timeout": 0}, "above 0, got 0. 30 is used."),
        ("PreToolUse", {"type": "htp"}, "There is no handler type 'htp'."),
        ("PreToolUse", {"type": "command"}, 'A handler needs a "command".'),
        ("PreToolUse", {"command": "true", "timout": 3}, "no field 'timout'. Did you mean 'timeout'?"),
        (
            "PreToolUse",
            {"command": "true", "timeout": "3"},
            "timeout must be a number of seconds above 0, got '3'. 600 is",
        ),
        (
            "PreToolUse",
            {"command": "true", "onError": "block"},
            "onError must be one of allow, ask, deny, got 'block'. deny",
        ),
        ("PostToolUse", {"command": "true", "onError": "deny"}, "onError has no effect at PostToolUse"),
        ("PreToolUse", {"command": "true", "async": True}, "an async handler cannot decide anything at PreToolUse"),
        ("Stop", {"command": "true", "asyncRewake": True}, "asyncRewake is not supported"),
        ("PreToolUse", {"command": "true", "if": ["Bash"]}, "if must be one permission rule as text"),
        (
            "Stop",
            {"command": "true", "if": "Bash"},
            "if cannot match at Stop: there is no call to compare with. The hook never runs.",
        ),
        ("PreToolUse", "./nowhere.sh --fast", "There is no file"),
        ("PreToolUse", '"$CLAUDE_PROJECT_DIR"/.claude/hooks/x.py', "There is no file"),
        ("PreToolUse", {"command": "no-such-program", "args": []}, "There is no program 'no-such-program'"),
    ],
)
def test_doctor_names_what_is_wrong_and_where(project, event, handler, words):
    project.hook(event, handler)
    findings = pegboard_hooks.diagnose(project.settings())
    assert len([finding for finding in findings if words in finding]) == 1, findings
    assert all(finding.startswith(str(project.files["user"])) for finding in findings)


def test_an_if_that_no_call_of_its_tool_can_meet_is_a_notice(project):
    project.hook("PreToolUse", {"command": "true", "if": "Write(file_path:a.ts)"})
    [notice] = project.board().pool.notices
    assert str(notice).startswith(
        f"{project.files['user']}: PreToolUse: if Write(file_path:a.ts): Rules for Write already match file_path."
    )


def test_doctor_finds_nothing_wrong_with_sound_hooks(project):
    script = project.script("pass")
    project.hook("PreToolUse", script, "jq . | cat", "cd /tmp && ls", matcher="Edit|Write", timeout=5)
    project.hook("PreToolUse", {"type": "command", "command": script, "args": ["x"], "onError": "deny"})
    assert list(pegboard_hooks.diagnose(project.settings())) == []


def test_a_matcher_that_cannot_be_read_is_found(project):
    project.hook("PreToolUse", "true", matcher="*Edit")
    project.hook("Stop", "true", matcher="Bash")
    findings = "\n".join(pegboard_hooks.diagnose(project.settings()))
    assert "The matcher '*Edit' is not a valid regular expression" in findings
    assert "Stop: This event takes no matcher" in findings


def test_hooks_of_the_wrong_shape_are_refused_with_the_settings(project):
    project.files["user"].write_text(json.dumps({"hooks": {"PreToolUse": {"command": "true"}}}))
    (problem,) = project.settings().problems
    assert 'hooks must be an object with a list of {"matcher", "hooks"} for each event' in str(problem)


async def test_nobody_below_the_owner_switches_the_plugin_off(project):
    project.hook("PreToolUse", "exit 2", matcher="Read", layer="managed")
    project.set(disable=["policy.hooks"])
    board = Board.load(settings=project.settings(), env={"HOME": str(project.home)})
    assert (await board.dispatch(Call("1", "Read", {"file_path": "x"}))).decision.layer == "hooks"


async def test_the_installed_plugin_guards_an_installed_tool(project):
    project.hook("PreToolUse", "echo No reading. >&2; exit 2", matcher="Read")
    board = Board.load(settings=project.settings(), env={"HOME": str(project.home)})
    assert "policy.hooks" in [plugin["entry"] for plugin in board.plugins]
    result = await board.dispatch(Call("1", "Read", {"file_path": "x"}))
    assert result.text.startswith("Read was denied. No reading.")


def test_the_command_doctor_shows_the_findings(project):
    pytest.importorskip("pegboard_cli")
    project.hook("PreToolUse", {"type": "http", "url": "x"})
    env = {"HOME": str(project.home), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "pegboard_cli", "doctor", "--json"]
    ran = subprocess.run(command, cwd=project.root, env=env, capture_output=True, text=True, check=False)
    (found,) = [finding for finding in json.loads(ran.stdout) if finding["area"] == "policy.hooks"]
    assert (found["level"], ran.returncode) == ("warning", 1)
    assert "url must begin with" in found["message"]
