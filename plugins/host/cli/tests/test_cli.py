"""The command line as a contract: exit codes, streams, JSON, and a clear sentence for every mistake."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import Settings
from pegboard.hosting import Features
from pegboard.settings import Layer
from pegboard_cli.features_command import family_off
from pegboard_cli.help import hint_for
from pegboard_cli.main import COMMANDS
from pegboard_testing.warm import warm

LISTINGS = ["tools", "plugins", "features", "settings", "doctor"]


@pytest.fixture
def home(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def pegboard(tmp_path, home):
    """Run the command in a folder and home of its own."""

    def run(*words, env=None, stdin=None, cwd=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "XDG_"))}
        return subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            capture_output=True,
            text=True,
            env={**clean, "HOME": str(warm(home)), **(env or {})},
            cwd=cwd or tmp_path / "work",
            input=stdin if stdin is not None else "",
            timeout=60,
        )

    return run


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "work" / "note.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


@pytest.mark.parametrize("command", LISTINGS)
def test_every_listing_speaks_json_and_plain_lines(pegboard, command):
    done = pegboard(command, "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    plain = pegboard(command)
    assert plain.returncode == 0
    assert plain.stdout
    assert "\x1b" not in plain.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(pegboard, command):
    done = pegboard(command, "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert f"pegboard {command}" in done.stdout


def test_help_names_every_command_and_version_names_the_core(pegboard):
    text = pegboard("--help").stdout
    assert all(command in text for command in COMMANDS)
    listed = dict(line.split(maxsplit=1) for line in text.partition("commands:\n")[2].partition("\n\n")[0].splitlines())
    assert listed["build"] == "build a bundle that contains only the tools you choose", "of another distribution"
    assert not any(what.startswith("from pegboard-") for what in listed.values())
    assert pegboard().stdout == text
    assert "core" in pegboard("--version").stdout


def test_tools_show_owner_family_flags_and_size(pegboard):
    [row] = [row for row in json.loads(pegboard("tools", "--json").stdout) if row["name"] == "Read"]
    assert row["distribution"] == "pegboard-read"
    assert (row["family"], row["partition"], row["read_only"], row["state"]) == ("files", "built-in", True, "active")
    assert row["tokens"] > 50


def test_tools_all_gives_a_reason_for_every_absent_tool(pegboard):
    rows = json.loads(pegboard("tools", "--all", "--json", "--no-tool", "Read").stdout)
    absent = {row["name"]: row for row in rows if row["state"] == "absent"}
    assert absent["Read"]["reason"] == "Read is disabled by the command line."
    assert all(row["reason"] and row["layer"] for row in absent.values())


def test_tools_request_prints_the_very_bytes_of_a_request(pegboard):
    listed = json.loads(pegboard("tools", "--request").stdout)
    assert "Read" in [definition["name"] for definition in listed]


def test_tools_show_prints_prompt_and_schema(pegboard):
    assert '"file_path"' in pegboard("tools", "show", "Read").stdout
    shown = json.loads(pegboard("tools", "show", "Read", "--json").stdout)
    assert shown["definition"]["input_schema"]["required"] == ["file_path"]
    missing = pegboard("tools", "show", "Raed")
    assert (missing.returncode, "Did you mean 'Read'?" in missing.stderr) == (2, True)
    off = pegboard("tools", "show", "Read", "--no-family", "files")
    assert "The family files is disabled by the command line." in off.stderr


def test_call_runs_a_tool_and_prints_what_the_model_would_read(pegboard, note):
    done = pegboard("call", "Read", "file_path=note.txt", "limit=2")
    assert done.returncode == 0
    assert done.stdout.startswith("1\tone\n2\ttwo\n")
    assert done.stderr == ""


def test_call_takes_json_from_the_argument_and_from_stdin(pegboard, note):
    given = json.dumps({"file_path": str(note), "limit": 1})
    assert pegboard("call", "Read", given).stdout.startswith("1\tone")
    assert pegboard("call", "Read", "-", stdin=given).stdout.startswith("1\tone")
    assert pegboard("call", "Read", "file_path=note.txt", "limit:=1").stdout.startswith("1\tone")


def test_call_json_carries_value_decision_and_content(pegboard, note):
    data = json.loads(pegboard("call", "Read", "file_path=note.txt", "--json").stdout)
    assert "three" in json.dumps(data["value"])
    assert data["decision"]["decision"] == "allow"
    assert data["content"][0]["text"].startswith("1\tone")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["call", "Raed", "{}"], 2, "There is no tool named 'Raed'. Did you mean Read?"),
        (["call", "Read", "{}"], 2, "Read needs the argument 'file_path'."),
        (["call", "Read", '{"file_path": '], 2, "not valid JSON: EOF while parsing a value at line 1 column 14"),
        (["call", "Read", '{"file_path": 7}'], 2, "file_path must be text, got 7."),
        (["call", "Read", '{"file_path": "a", "limt": 7}'], 2, "did you mean 'limit'?"),
        (["call", "Read", '{"file_path": "a\\u0000b"}'], 2, "contains a NUL byte"),
        (["call", "Read", "[1]"], 2, "must be a JSON object, got a list"),
        (["call", "Read", "nonsense"], 2, "expected JSON or key=value, got 'nonsense'"),
        (["call", "Read", "limit:={"], 2, "limit: not valid JSON"),
        (["call", "Read", "file_path=nowhere.txt"], 1, "There is no file"),
        (["call"], 2, "the following arguments are required: NAME"),
        (["tools", "show"], 2, "show needs the name of a tool"),
        (["tols"], 2, "there is no command 'tols'. Did you mean 'tools'?"),
        (["version"], 2, "there is no command 'version'. See pegboard --help."),
        (["tools", "--colour"], 2, "unrecognized arguments: --colour"),
        (["tools", "--cwd", "nowhere"], 2, "there is no folder 'nowhere'"),
        (["call", "Read", "file_path=a", "--settings", "nowhere.json"], 2, "There is no such settings file."),
    ],
)
def test_every_mistake_gets_a_sentence_and_an_exit_code(pegboard, words, code, said):
    done = pegboard(*words)
    assert said in done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "hint"),
    [("build", " Install pegboard-authors to get it."), ("xyz", " See pegboard --help.")],
)
def test_a_command_that_is_not_installed_is_named_with_what_brings_it(name, hint):
    assert hint_for(name) == hint


def test_huge_and_deep_input_is_answered_not_crashed(pegboard):
    done = pegboard("call", "Read", "-", stdin=json.dumps({"file_path": "x" * 10_000_000}))
    assert (done.returncode, "file_path is 10000000 characters long" in done.stderr) == (2, True)
    done = pegboard("call", "Read", "-", stdin='{"file_path":' * 50_000)
    assert (done.returncode, "recursion limit exceeded" in done.stderr) == (2, True)
    done = pegboard("call", "Read", "-", stdin="\x00\x01\x02")
    assert done.returncode == 2
    assert all("Traceback" not in text for text in (done.stderr,))


def test_a_denied_call_exits_with_three(pegboard, note, home):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text('{"permissions": {"ask": ["Read"]}}')
    done = pegboard("call", "Read", "file_path=note.txt")
    assert done.returncode == 3
    assert "There was no one to approve it." in done.stderr
    assert pegboard("call", "Read", "file_path=note.txt", "--yes").returncode == 0


def test_yes_never_answers_a_deny(pegboard, note, home):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text('{"permissions": {"deny": ["Read"]}}')
    done = pegboard("call", "Read", "file_path=note.txt", "--yes")
    assert done.returncode != 0
    assert "denies every call" in done.stderr


def test_a_broken_settings_file_stops_what_acts_and_warns_what_lists(pegboard, note, home):
    (home / ".pegboard").mkdir()
    path = home / ".pegboard/settings.json"
    path.write_text('{"disable": [}')
    acted = pegboard("call", "Read", "file_path=note.txt")
    assert acted.returncode == 2
    assert f"{path}:1:14: This is not valid JSON" in acted.stderr
    listed = pegboard("tools", "--json")
    assert listed.returncode == 0
    assert json.loads(listed.stdout)
    assert f"error: {path}:1:14" in listed.stderr
    doctor = pegboard("doctor", "--json")
    assert doctor.returncode == 1
    assert any(row["level"] == "error" and row["area"] == "settings" for row in json.loads(doctor.stdout))


def test_settings_show_every_value_with_its_origin(pegboard, home):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text('{"disable": ["web"], "colour": 1}')
    done = pegboard("settings", "--json", env={"PEGBOARD_DISABLE": "shell"})
    [row] = json.loads(done.stdout)["settings"]
    assert row["value"] == ["shell", "web"]
    assert [(said["layer"], Path(said["source"]).name) for said in row["from"]] == [
        ("env", "PEGBOARD_DISABLE"),
        ("user", "settings.json"),
    ]
    assert "There is no setting 'colour'" in done.stderr


def test_features_say_who_switched_a_family_off(pegboard):
    rows = json.loads(pegboard("features", "--json", env={"PEGBOARD_DISABLE": "shell"}).stdout)
    shell = next(row for row in rows if row["family"] == "shell")
    assert (shell["state"], shell["set_by"]) == ("off", "env")
    assert "PEGBOARD_DISABLE" in shell["reason"]
    unknown = pegboard("features", env={"PEGBOARD_DISABLE": "shel"})
    assert "'shel' names no family, plugin, distribution or tool. Did you mean 'shell'?" in unknown.stderr


def test_completion_offers_commands_tools_and_families(pegboard):
    assert pegboard("__complete", "to").stdout == "tools\n"
    assert "Read" in pegboard("__complete", "call", "").stdout.split()
    assert "shell" in pegboard("__complete", "tools", "--no-family", "").stdout.split()
    assert pegboard("__complete", "call", "--js").stdout == "--json\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(pegboard, shell):
    assert "pegboard __complete" in pegboard("completion", shell).stdout


def test_the_bash_script_completes(pegboard, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(pegboard("completion", "bash").stdout)
    (tmp_path / "pegboard").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pegboard_cli "$@"\n')
    (tmp_path / "pegboard").chmod(0o755)
    code = f'source {script}; COMP_WORDS=(pegboard to); COMP_CWORD=1; _pegboard; echo "${{COMPREPLY[@]}}"'
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    assert subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=env).stdout == "tools\n"


def test_a_closed_pipe_is_no_accident(pegboard, home):
    code = f"{sys.executable} -m pegboard_cli tools --all --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", code], capture_output=True, env={**os.environ, "HOME": str(home)}
    )
    assert done.stderr == b""


def test_a_terminal_gets_colour_and_no_control_characters(tmp_path, home, note):
    note.write_text("\x1b[31mred\x07\n")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "pegboard_cli", "call", "Read", f"file_path={note}"]
    env = {**os.environ, "HOME": str(home), "TERM": "xterm"}
    subprocess.run(command, stdout=follower, stdin=subprocess.DEVNULL, env=env, cwd=tmp_path, check=True)
    shown = os.read(leader, 10_000).decode()
    assert "\\x1b[31mred\\x07" in shown
    os.close(leader)
    os.close(follower)


@pytest.mark.parametrize("words", [["tools", "--json"], ["settings"], ["doctor"], ["--help"]])
def test_a_command_without_standard_streams_does_its_work(home, words):
    line = " ".join([sys.executable, "-m", "pegboard_cli", *words])
    env = {**os.environ, "HOME": str(home)}
    done = subprocess.run(["bash", "-c", f"{line} <&- >&-"], capture_output=True, text=True, env=env, cwd=home)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdin_is_an_empty_input(home):
    line = f"{sys.executable} -m pegboard_cli call Read - <&-"
    env = {**os.environ, "HOME": str(home)}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, cwd=home)
    assert done.returncode == 2
    assert "not valid JSON" in done.stderr


def test_an_output_that_cannot_spell_everything_shows_escapes(pegboard, note):
    note.write_text("\u2014\n", encoding="utf-8")
    done = pegboard("call", "Read", f"file_path={note}", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stdout) == (0, "1\t\\u2014\n")


def test_bytes_that_are_no_text_are_not_blamed_on_the_tool(pegboard):
    done = pegboard("call", "Read", b'{"file_path": "\xff"}')
    assert "There is no file" in done.stderr
    assert "bug" not in done.stderr


def test_a_broken_file_is_complained_about_once(pegboard, home):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text("{")
    assert pegboard("call", "Read", "file_path=x").stderr.count("not valid JSON") == 1


def test_an_odd_width_of_the_terminal_is_no_accident(pegboard):
    assert pegboard("tools", "--help", env={"COLUMNS": "\u00b2"}).returncode == 0


def test_a_key_without_letters_is_named_as_it_is(pegboard):
    assert "Read has no argument ''" in pegboard("call", "Read", '{"": 1}').stderr


def test_what_a_repository_wrote_cannot_steer_the_terminal(pegboard, tmp_path):
    folder = tmp_path / "work" / ".pegboard"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Foo\x1b]0;owned\x07"]}}))
    done = pegboard("run", "--replay", played(tmp_path, {"type": "text", "text": "done"}), "Go")
    assert "owned" in done.stderr
    assert "\x1b" not in done.stderr


def played(tmp_path, *blocks):
    path = tmp_path / "script.jsonl"
    path.write_text("".join(json.dumps({"content": [block]}) + "\n" for block in blocks))
    return str(path)


def used(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


def test_an_option_is_stronger_than_a_recorded_mode_and_a_recorded_folder_may_be_gone(pegboard, tmp_path, home):
    place = home / ".local/state/pegboard/transcripts"
    place.mkdir(parents=True)
    change = {"type": "change", "cwd": str(tmp_path / "gone"), "mode": "acceptEdits", "loaded_tools": []}
    (place / "abc.jsonl").write_text(json.dumps(change) + "\n")
    write = used("Write", file_path="made.txt", content="x")
    script = played(tmp_path, write, {"type": "text", "text": "done"})
    kept = tmp_path / "work" / "made.txt"
    done = pegboard("run", "--replay", script, "--resume", "abc", "--permission-mode", "plan", "Go")
    assert (done.returncode, done.stdout, kept.exists()) == (0, "done\n", False)
    assert "the mode plan" in done.stderr
    done = pegboard("run", "--replay", script, "--resume", "abc", "Go")
    assert (done.returncode, kept.exists()) == (0, True)


def test_a_killed_session_is_resumed_with_its_calls_answered_and_only_by_one(pegboard, tmp_path, home):
    slow = used("Bash", command="sleep 20")  # It outlives the kill, but not for long.
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "XDG_"))}
    command = [sys.executable, "-m", "pegboard_cli", "run", "--allow", "Bash", "--output-format", "stream-json"]
    with subprocess.Popen(
        [*command, "--replay", played(tmp_path, slow), "Go"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**clean, "HOME": str(warm(home))},
        cwd=tmp_path / "work",
        text=True,
    ) as run:
        assert run.stdout
        next(line for line in run.stdout if json.loads(line)["type"] == "decided")
        after = played(tmp_path, {"type": "text", "text": "I see."})
        second = pegboard("run", "--replay", after, "--resume", "--output-format", "json", "Now?")
        assert second.returncode == 1
        assert "is open in another process" in second.stderr
        run.kill()
    done = pegboard("run", "--replay", after, "--resume", "Now?")
    assert (done.returncode, done.stdout) == (0, "I see.\n")
    [row] = json.loads(pegboard("sessions", "--json").stdout)
    messages = json.loads(pegboard("sessions", "show", row["id"], "--json").stdout)
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert "was interrupted before it had a result" in messages[2]["content"][0]["content"][0]["text"]


def test_a_session_that_is_not_there_is_one_sentence(pegboard, tmp_path):
    done = pegboard("run", "--replay", played(tmp_path, {"type": "text", "text": "done"}), "--resume", "abc", "Go")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pegboard: No session begins with 'abc'. ")


def test_where_nothing_can_be_kept_a_session_runs_all_the_same(pegboard, tmp_path, home):
    (home / "state").write_text("a file where the folder should be")
    script = played(tmp_path, {"type": "text", "text": "done"})
    done = pegboard("run", "--replay", script, "Go", env={"XDG_STATE_HOME": str(home / "state")})
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "The conversation is not saved" in done.stderr


@pytest.mark.parametrize("words", [["run", "hello"], ["why", "Read", "file_path=a"], ["tools"], ["doctor"]])
def test_a_missing_settings_file_is_reported_once(pegboard, words):
    done = pegboard(*words, "--settings", "nowhere.json")
    assert (done.stdout + done.stderr).count("There is no such settings file.") == 1


def test_doctor_says_whether_a_key_is_set_and_that_is_no_problem(pegboard):
    unset = {name: "" for name in os.environ if name.startswith("ANTHROPIC_")}
    without = pegboard("doctor", "--json", env={**unset, "ANTHROPIC_API_KEY": ""})
    rows = {row["area"]: row for row in json.loads(without.stdout)}
    assert rows["providers.anthropic"]["level"] == "note"
    assert rows["providers.anthropic"]["message"].startswith("No key is set. Set ANTHROPIC_API_KEY ")
    assert without.returncode == 0
    rows = {row["area"]: row for row in json.loads(pegboard("doctor", "--json", env={"ANTHROPIC_API_KEY": "x"}).stdout)}
    assert rows["providers.anthropic"]["level"] == "ok"


@pytest.mark.parametrize("action", ["delete", "show"])
def test_a_session_that_is_not_there_is_named_as_one(pegboard, action):
    done = pegboard("sessions", action, "zzz")
    assert done.returncode == 1
    assert done.stderr == "pegboard: No session begins with 'zzz'. `pegboard sessions` lists the saved sessions.\n"


def test_the_demo_names_commands_that_exist_there(tmp_path, home):
    script, work = Path(sys.executable).with_name("pegboard"), tmp_path / "work"
    work.mkdir(exist_ok=True)
    alone = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    ways = [
        (alone, str(script)),
        ({**alone, "PATH": f"{script.parent}:/usr/bin:/bin"}, "pegboard"),
        ({**alone, "UV": "/opt/uv/bin/uv"}, "/opt/uv/bin/uv run pegboard"),
    ]
    for env, command in ways:
        done = subprocess.run([script, "demo"], env=env, cwd=work, capture_output=True, text=True, check=False)
        steps = done.stdout.partition("What to do next:\n")[2].splitlines()
        assert steps[0].startswith(f"  {command} tools "), done.stderr
        assert any(step.startswith(f"  {command} run ") and "(set ANTHROPIC_API_KEY first)" in step for step in steps)
        assert not any("docs/" in step for step in steps)


@pytest.mark.parametrize(
    ("layer", "off"),
    [
        ({"disable": ["files"]}, True),
        ({"disable": ["files.read"]}, False),
        ({"only": ["search"]}, True),
        ({"only": ["files"]}, False),
        ({"only": ["files.read"]}, False),
        ({"only": ["pegboard-read"]}, False),
        ({"only": ["Read"]}, False),
        ({"only": []}, True),
    ],
)
def test_a_family_is_off_only_where_nothing_of_it_can_be_on(layer, off):
    assert (family_off(Features(Settings([Layer("user", "user.json", layer)])), "files") is not None) == off


def test_time_limits_of_settings_hold_for_a_call(pegboard, home):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text('{"timeouts": {"Bash": 0.5}}')
    done = pegboard("call", "--json", "--yes", "Bash", "command=sleep 30")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert (said["code"], said["content"][0]["text"]) == ("timeout", "Bash timed out after 0.5 s.")
