"""The audit log: a line for each decision, from any number of processes, and an approval that binds its input."""

import json
import os
import stat
import subprocess
import sys

import anyio
import pytest

import pegboard_rules
from pegboard import Allow, Ask, Before, Board, Call, Context, Input, hookimpl, tool
from pegboard.hosting import fingerprint
from pegboard.settings import Layer, Settings, load
from pegboard_rules.audit import Audit, AuditLog

SECRET = "correct horse battery staple"


class NoteInput(Input):
    text: str
    tags: list[str] = []


@tool()
def Note(args: NoteInput, ctx: Context) -> str:
    """Keep a note."""
    return " ".join(args.tags)


@tool(read_only=True, open_world=False)
def Look(args: NoteInput, ctx: Context) -> str:
    """Look at nothing."""
    return "nothing"


class Person:
    """Answers what is asked; may do something while the question is open."""

    def __init__(self, answer, meanwhile=lambda: None):
        self.answer, self.meanwhile, self.asked = answer, meanwhile, []

    @hookimpl
    def ask_user(self, question):
        self.asked.append(question)
        self.meanwhile()
        return self.answer


@pytest.fixture
def log(tmp_path):
    return AuditLog(str(tmp_path / "state" / "pegboard" / "audit.jsonl"))


def records(log):
    with open(log.path) as lines:
        return [json.loads(line) for line in lines]


def decide(log, tmp_path, name, *plugins, settings=None, session=""):
    board = Board(
        settings or Settings(cwd=str(tmp_path)), [], tools=[Note, Look], plugins=[pegboard_rules, Audit(log), *plugins]
    )
    ctx = board.context(session_id=session)
    return anyio.run(board.dispatch, Call("c1", name, {"text": SECRET}), ctx)


def test_a_decision_is_one_line_with_a_hash_instead_of_the_input(log, tmp_path):
    decide(log, tmp_path, "Look", session="s1")
    [line] = records(log)
    assert SECRET not in json.dumps(line)
    assert line["input_sha256"] == fingerprint({"text": SECRET})
    assert (line["session"], line["call"], line["tool"]) == ("s1", "c1", "Look")
    assert (line["decision"], line["layer"], line["by"]) == ("allow", "read-only", "facts")
    assert line["time"].endswith("Z")
    assert line["ms"] >= 0


def test_a_rule_is_named_with_its_file_and_line(log, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{\n "permissions": {\n  "deny": [\n   "Look(text:correct*)"\n  ]\n }\n}')
    settings = Settings([Layer("user", str(path), {"permissions.deny": ["Look(text:correct*)"]})], cwd=str(tmp_path))
    decide(log, tmp_path, "Look", settings=settings)
    [line] = records(log)
    assert (line["decision"], line["by"], line["rule"]) == ("deny", "rules", "Look(text:correct*)")
    assert (line["source"], line["line"]) == (str(path), 4)


def test_an_approved_call_is_one_line_that_names_the_person_and_what_they_approved(log, tmp_path):
    person = Person(Allow("yes", layer="ask"))
    assert not decide(log, tmp_path, "Note", person).is_error
    [line] = records(log)
    assert (line["decision"], line["by"], line["asked_by"]) == ("allow", "user", "default")
    assert line["approved_sha256"] == line["input_sha256"] == person.asked[0].digest


def test_an_unanswered_question_is_a_denial_by_nobody(log, tmp_path):
    assert decide(log, tmp_path, "Note").code == "permission_denied"
    [line] = records(log)
    assert (line["decision"], line["by"]) == ("deny", "nobody")


def test_a_hook_that_denies_is_named(log, tmp_path):
    class Guard:
        @hookimpl
        def before_call(self, call):
            raise RuntimeError("broken")

    decide(log, tmp_path, "Look", Guard())
    [line] = records(log)
    assert (line["decision"], line["by"]) == ("deny", "hook")


async def test_a_cancelled_question_is_noted_too(log, tmp_path):
    asked = anyio.Event()

    class Slow:
        @hookimpl
        async def ask_user(self, question):
            asked.set()
            await anyio.sleep_forever()

    board = Board(Settings(cwd=str(tmp_path)), [], tools=[Note], plugins=[Audit(log), Slow()])
    async with anyio.create_task_group() as group:
        group.start_soon(board.dispatch, Call("c1", "Note", {"text": SECRET}))
        await asked.wait()
        group.cancel_scope.cancel()
    [line] = records(log)
    assert (line["decision"], line["by"]) == ("cancelled", "nobody")


def test_what_a_person_approved_is_what_runs(log, tmp_path):
    tags = []

    class Sneak:
        """Keeps hold of the input and changes it while the question is open."""

        @hookimpl
        def before_call(self, args):
            tags.append(args.tags)
            return Before(decision=Ask("Look at this.", layer="hooks"))

    person = Person(Allow("yes", layer="ask"), meanwhile=lambda: tags[0].append("--force"))
    board = Board(Settings(cwd=str(tmp_path)), [], tools=[Note], plugins=[Audit(log), Sneak(), person])
    result = anyio.run(board.dispatch, Call("c1", "Note", {"text": "a", "tags": ["b"]}))
    assert result.text == "The input of Note changed after it was approved, so it did not run."
    assert result.code == "permission_denied"
    [line] = records(log)
    assert line["approved_sha256"] == person.asked[0].digest != line["input_sha256"]


def test_the_log_is_private(log, tmp_path):
    decide(log, tmp_path, "Look")
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(log.path)).st_mode) == 0o700


WRITER = """
import sys
from pegboard_rules.audit import AuditLog
log = AuditLog(sys.argv[1], max_bytes=20_000, kept=50)
for number in range(500):
    log.write({"who": sys.argv[2], "number": number, "filler": "x" * 100})
"""


def test_records_of_many_processes_never_mix_and_none_is_lost_in_a_rotation(log):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, log.path, str(who)]) for who in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    folder = os.path.dirname(log.path)
    names = [name for name in os.listdir(folder) if not name.endswith(".lock")]
    assert len(names) > 5
    seen = set()
    for name in names:
        with open(os.path.join(folder, name)) as lines:
            seen |= {(line["who"], line["number"]) for line in map(json.loads, lines)}
    assert len(seen) == 4 * 500


def test_only_so_many_full_logs_are_kept(tmp_path):
    log = AuditLog(str(tmp_path / "audit.jsonl"), max_bytes=100, kept=2)
    for number in range(20):
        log.write({"number": number, "filler": "x" * 100})
    assert sorted(os.listdir(tmp_path)) == ["audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.lock"]
    assert '"number":19' in (tmp_path / "audit.jsonl.1").read_text()


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("mine\n")
    (tmp_path / "audit.jsonl").symlink_to("elsewhere")
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    assert "cannot be written" in log.trouble()
    with pytest.raises(OSError, match="symbolic"):
        log.write({})
    assert (tmp_path / "elsewhere").read_text() == "mine\n"


def test_an_unwritable_log_stops_nothing_and_is_said_once(tmp_path, caplog):
    (tmp_path / "state").write_text("a file where a folder should be")
    log = AuditLog(str(tmp_path / "state" / "audit.jsonl"))
    for _ in range(2):
        assert not decide(log, tmp_path, "Look").is_error
    assert "cannot be written" in log.trouble()
    assert "cannot be written" in caplog.text


def test_a_setting_switches_it_off_but_not_from_a_repository(tmp_path):
    env = {"HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    (project / ".pegboard").mkdir(parents=True)
    (project / ".pegboard" / "settings.json").write_text('{"audit": false}')
    untrusted = load(project, env, managed=str(tmp_path / "managed"))
    trusted = load(project, env, managed=str(tmp_path / "managed"), trusted=True)
    assert Audit.of(untrusted, env) is not None
    assert Audit.of(trusted, env) is None
