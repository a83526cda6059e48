"""`pegboard why`: the decision, its whole trace, exit codes, and a batch that judges every line."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pegboard_testing.warm import warm

CODES = {"allow": 0, "deny": 3, "ask": 4}
TABLE = Path(__file__).parents[4] / "core" / "tests" / "data" / "path_rules.jsonl"


@pytest.fixture
def world(tmp_path):
    class World:
        work, home = tmp_path / "work", tmp_path / "home"

        def settings(self, value, folder=None):
            path = (folder or self.work) / ".pegboard" / "settings.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value if isinstance(value, str) else json.dumps(value))
            return str(path)

        def why(self, *words, stdin=None, env=None, cwd=None):
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "XDG_", "CLAUDE_"))}
            return subprocess.run(
                [sys.executable, "-m", "pegboard_cli", "why", *words],
                capture_output=True,
                text=True,
                env={**clean, "HOME": str(warm(self.home)), **(env or {})},
                cwd=cwd or self.work,
                input=stdin or "",
                timeout=60,
            )

        def batch(self, *calls, words=(), **more):
            lines = "".join((call if isinstance(call, str) else json.dumps(call)) + "\n" for call in calls)
            done = self.why("--batch", "-", *words, stdin=lines, **more)
            return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    made = World()
    made.work.mkdir()
    made.home.mkdir()
    return made


def test_an_exit_code_for_each_answer(world):
    world.settings({"permissions": {"deny": ["Read(.env)"]}})
    assert world.why("Read", "file_path=a").returncode == 0
    assert world.why("Read", "file_path=.env").returncode == 3
    assert world.why("Write", "file_path=a", "content=x").returncode == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Raed", "file_path=a"], "There is no tool named 'Raed'. Did you mean Read"),
        (["Read"], "Read needs the argument 'file_path'"),
        (["Read", "{"], "the input is not valid JSON"),
        ([], "give the name of a tool, or --batch FILE"),
        (["Read", "file_path=a", "--mode", "yolo"], "there is no mode 'yolo'. The modes here are default, plan,"),
    ],
)
def test_mistakes_are_usage(world, words, sentence):
    done = world.why(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_nothing_runs(world):
    target = world.work / "a"
    done = world.why("Write", f"file_path={target}", "content=x", "--mode", "acceptEdits")
    assert done.returncode == 0
    assert not target.exists()
    assert not (world.home / ".local").exists(), "a question is no decision, and is not in the audit log"


def test_every_layer_is_shown_in_order_with_rule_file_line_and_match(world):
    source = world.settings('{\n "permissions": {\n  "deny": [\n   "Read(other)",\n   "Read(.env)"\n  ]\n }\n}')
    done = world.why("Read", "file_path=sub/.env")
    assert done.stdout.startswith("deny: Read was denied by the rule Read(.env) in .pegboard/settings.json.\n")
    steps = re.findall(r"^(deny-rules|safety|ask-rules|allow-rules|mode|facts) ", done.stdout, re.M)
    assert steps == ["deny-rules", "safety", "ask-rules", "allow-rules", "mode", "facts"]
    assert f"Read(.env)  {source}:5  matches {world.work}/sub/.env" in done.stdout
    assert f"reads {world.work}/sub/.env" in done.stdout


def test_json_has_the_decision_the_trace_and_the_facts(world):
    source = world.settings({"permissions": {"deny": ["Read(.env)"]}})
    found = json.loads(world.why("Read", '{"file_path": ".env"}', "--json").stdout)
    wanted = {"decision": "deny", "layer": "rules", "rule": "Read(.env)", "source": source, "line": 1}
    assert wanted.items() <= found.items()
    assert found["matched"] == f"{world.work}/.env"
    assert wanted.items() <= found["trace"][0].items()
    assert [step["step"] for step in found["trace"] if step["decision"]] == ["deny-rules", "facts"]
    assert found["facts"]["reads"] == [f"{world.work}/.env"]
    assert found["input"] == {"file_path": f"{world.work}/.env"}
    assert re.fullmatch("[0-9a-f]{64}", found["input_sha256"])
    assert (found["mode"], found["trusted"], found["not_run"]) == ("default", False, [])


def test_a_tool_that_a_bare_rule_hides_is_explained(world):
    world.settings({"permissions": {"deny": ["Write"]}})
    done = world.why("Write", "file_path=a", "content=x")
    assert done.returncode == 3
    assert "Write was denied by the rule Write in .pegboard/settings.json." in done.stdout


def test_allow_rules_of_a_project_count_only_when_it_is_trusted(world):
    world.settings({"permissions": {"allow": ["Edit(a)"]}})
    assert world.why("Write", "file_path=a", "content=x").returncode == 4
    assert world.why("Write", "file_path=a", "content=x", "--trust").returncode == 0


def test_commands_of_the_user_are_not_run_and_the_answer_says_so(world):
    pytest.importorskip("pegboard_hooks")
    (world.home / ".pegboard").mkdir()
    hook = {"type": "command", "command": f"touch {world.work}/ran"}
    hooks = {"PreToolUse": [{"matcher": "Read", "hooks": [hook]}]}
    (world.home / ".pegboard" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    done = world.why("Read", "file_path=a")
    assert "not run: " in done.stdout
    assert "runs commands of the user in before_call" in done.stdout
    assert not (world.work / "ran").exists()
    _, [read, write], _ = world.batch(
        {"tool": "Read", "input": {"file_path": "a"}}, {"tool": "Write", "input": {"file_path": "a", "content": ""}}
    )
    assert len(read["not_run"]) == 1
    assert "not_run" not in write


def test_a_batch_answers_each_line_and_a_bad_one_spoils_only_the_exit_code(world):
    world.settings({"permissions": {"deny": ["Read(.env)"]}})
    good = {"tool": "Read", "input": {"file_path": ".env"}}
    code, answers, _ = world.batch(good, "{", {"tool": "Nope", "input": {}}, '["x"]', {"tool": "Read"}, good)
    assert code == 2
    assert [list(answer) for answer in answers[1:5]] == [["error"]] * 4
    assert answers[0] == answers[5]
    assert list(answers[0]) == ["decision", "layer", "rule", "source", "reason", "read_only", "concurrency_safe"]
    assert (answers[0]["decision"], answers[0]["read_only"]) == ("deny", True)
    assert world.batch(good)[0] == 0


def test_each_line_of_a_batch_may_have_a_folder_and_a_mode(world, tmp_path):
    other = tmp_path / "other"
    world.settings({"permissions": {"deny": ["Edit(*.lock)"]}, "disable": ["shell"]}, folder=other)
    write = {"tool": "Write", "input": {"file_path": "a.lock", "content": ""}}
    code, answers, _ = world.batch(
        write,
        {**write, "mode": "acceptEdits"},
        {**write, "mode": "dontAsk"},
        {**write, "cwd": str(other)},
        {**write, "cwd": str(other), "mode": "bypassPermissions"},
        {"tool": "Bash", "input": {"command": "ls"}, "cwd": str(other)},
        {**write, "mode": "yolo"},
        {**write, "cwd": None, "mode": None, "note": "fields of your own are let be"},
    )
    assert [answer.get("decision") for answer in answers] == ["ask", "allow", "deny", "deny", "deny", None, None, "ask"]
    assert "Bash is not available" in answers[5]["error"] or "shell" in answers[5]["error"]
    assert code == 2


def test_a_batch_answers_each_line_as_it_comes(world):
    command = [sys.executable, "-m", "pegboard_cli", "why", "--batch", "-"]
    env = {**os.environ, "HOME": str(world.home)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, env=env, cwd=world.work, text=True) as process:
        for name in ("a", "b"):
            process.stdin.write(json.dumps({"tool": "Read", "input": {"file_path": name}}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == "allow"
        process.stdin.close()
    assert process.returncode == 0


def test_a_batch_is_fast(world, tmp_path):
    lines = [
        {"tool": "Read", "input": {"file_path": f"f{n}"}, "cwd": str(tmp_path / f"d{n % 20}")} for n in range(2000)
    ]
    began = time.monotonic()
    code, answers, stderr = world.batch(*lines)
    assert (code, len(answers)) == (0, 2000), stderr
    assert time.monotonic() - began < 60  # A process for each line would take ten times as long.


def test_a_batch_can_be_a_file(world):
    (world.work / "calls.jsonl").write_text('{"tool": "Read", "input": "{\\"file_path\\": \\"a\\"}"}\n\n')
    done = world.why("--batch", "calls.jsonl")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert world.why("--batch", "nothing.jsonl").returncode == 1


ROWS = [json.loads(line) for line in TABLE.read_text().splitlines()] if TABLE.exists() else []


def expressible(row):
    """Other tools and other kinds of volume need more than a settings file; a NUL byte never gets past validation."""
    known = row.get("tool", "Read") in ("Read", "Write", "Edit")
    return known and not row.get("fs_flags") and "\0" not in row["path"]


class Case:
    """A row of the table in a world of its own: settings file, links and folders are really there."""

    def __init__(self, row, base, folder):
        self.row, self.base = row, base
        self.home, self.cwd, root = (self.moved(row[key]) for key in ("home", "cwd", "project_root"))
        for place in (self.home, self.cwd, f"{root}/{folder}"):
            os.makedirs(place, exist_ok=True)
        for link in row.get("fs", ()):
            os.makedirs(os.path.dirname(self.moved(link["link"])), exist_ok=True)
            os.symlink(self.moved(link["target"]), self.moved(link["link"]))
        self.rule = re.sub(r"\(//(?=(srv|tmp)/)", f"(/{base}/", row["rule"])
        name = {"project": "settings.json", "local": "settings.local.json"}.get(row["settings_source"])
        file = Path(root, folder, name) if name else Path(self.home, folder, "settings.json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"permissions": {row["rule_type"]: [self.rule]}}))
        self.alone = not name or "~" in row["rule"] + row["path"] or row["path"].startswith("/proc/self/")

    def moved(self, text):
        return re.sub(r"^/(?=(srv|home|tmp|nonexistent)\b)", f"{self.base}/", text)

    @property
    def call(self):
        reads = self.row.get("tool", "Read") == "Read" and self.row["rule"].startswith("Read")
        given = {"file_path": self.moved(self.row["path"]), **({} if reads else {"content": ""})}
        return {"tool": "Read" if reads else "Write", "input": given, "cwd": self.cwd}

    def holds(self, answer):
        by_the_rule = (answer.get("decision"), answer.get("rule")) == (self.row["rule_type"], self.rule)
        return by_the_rule == (self.row["expect"] == "match")


@pytest.mark.skipif(not ROWS, reason="the table is not beside the command line here")
@pytest.mark.parametrize("folder", [".pegboard", ".claude"])
def test_the_table_of_path_rules_end_to_end(world, tmp_path, folder):
    rows = [row for row in ROWS if expressible(row)]
    cases = [Case(row, f"{tmp_path}/rows/{number}", folder) for number, row in enumerate(rows)]
    assert len(cases) > 40
    together = [case for case in cases if not case.alone]
    code, answers, stderr = world.batch(*(case.call for case in together), words=("--trust",))
    errors = [(case.row, answer) for case, answer in zip(together, answers, strict=True) if "error" in answer]
    assert (code, errors) == (0, []), stderr
    for case in cases:
        if case.alone:
            together.append(case)
            answers += world.batch(case.call, words=("--trust",), env={"HOME": case.home}, cwd=case.cwd)[1]
    wrong = [(case.row, answer) for case, answer in zip(together, answers, strict=True) if not case.holds(answer)]
    assert not wrong
