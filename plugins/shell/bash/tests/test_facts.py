"""What a command would touch, and how rules, modes and safety checks meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pegboard_rules
from pegboard import Allow, Ask, Board, Context, Deny
from pegboard.settings import load
from pegboard_bash import Bash, BashInput
from pegboard_bash.understanding import understand
from pegboard_rules.opinions import decide_by_rules


def commands(kind):
    """The commands of a kind from the tests' data."""
    lines = (Path(__file__).parent / "data" / "reach.jsonl").read_text().splitlines()
    return [row["command"] for row in map(json.loads, lines) if row["kind"] == kind]


def names(paths, folder):
    return [str(path).removeprefix(f"{folder}/") for path in paths]


@pytest.mark.parametrize(
    ("command", "reads", "writes", "deletes"),
    [
        ("cat a b", ["a", "b"], [], []),
        ("cat < a", ["a"], [], []),
        ("grep -rn x src tests", ["src", "tests"], [], []),
        ("grep -e x a", ["a"], [], []),
        ("head -n 3 a", ["a"], [], []),
        ("echo hi > out", [], ["out"], []),
        ("echo hi 2>> log > out", [], ["log", "out"], []),
        ("ls &> /dev/null", None, [], []),
        ("sort a -o b", ["a", "b"], [], []),
        ("cp a b", ["a"], ["b"], []),
        ("mv a b", ["a"], ["b"], ["a"]),
        ("mkdir -p x/y", [], ["x/y"], []),
        ("touch a b", [], ["a", "b"], []),
        ("rm -rf a 'b c'", [], [], ["a", "b c"]),
        ("sed -i s/a/b/ f", ["f"], ["f"], []),
        ("tee -a f", [], ["f"], []),
        ("find x -delete", ["x"], [], ["x"]),
        ("find . -fprint out", ["."], ["out"], []),
        ("cd src && cat app.py", ["src", "src/app.py"], [], []),
        ("sudo rm x", [], [], ["x"]),
        ("bash -c 'rm x'", [], [], ["x"]),
        ("echo $(rm x)", [], [], ["x"]),
        ("cat {a,b}.txt", ["a.txt", "b.txt"], [], []),
        ("cat src/*.py", ["src/app.py"], [], []),
        ("for f in a b; do cat $f; done", ["a", "b"], [], []),
        ("git log --output=x", [], [], []),
    ],
)
def test_files_are_named(command, reads, writes, deletes, repository):
    facts = understand(command, repository).facts
    if reads is not None:
        assert [name.removeprefix("./") for name in names(facts.reads, repository)] == [
            str(repository) if name == "." else name for name in reads
        ]
    assert names(facts.writes, repository) == writes
    assert names(facts.deletes, repository) == deletes


def test_home_is_known_under_each_spelling(repository):
    for spelling in ("~/.ssh/id", '"$HOME/.ssh/id"', "${HOME}/.ssh/id", "$HOME'/.ssh/id'"):
        facts = understand(f"cat {spelling}", repository, home="/home/ada").facts
        assert names(facts.reads, "/home/ada") == [".ssh/id"]


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("ls -la | wc  -l", ["ls -la", "wc -l"]),
        ("a && b || c; d & e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("timeout 5 npm test > log", ["npm test"]),
        ("nice -n 3 stdbuf -o0 npm test", ["npm test"]),
        ("NODE_ENV=x npm test", ["npm test"]),
        ("PATH=. npm test", ["PATH=. npm test"]),
        ("xargs npm test", ["npm test"]),
        ("xargs -n1 npm test", ["xargs -n1 npm test"]),
        ("(cd x; ls)", ["cd x", "ls"]),
        ("npm test 2>&1 <in", ["npm test"]),
    ],
)
def test_parts_are_what_rules_look_at(command, texts, repository):
    parts = [part.text for part in understand(command, repository).facts.parts]
    assert [text for text in parts if text in texts] == texts


@pytest.mark.parametrize("command", commands("deny"))
def test_a_deny_rule_sees_a_command_wherever_it_stands(command, repository):
    parts = understand(command, repository).facts.parts
    readings = [text for part in parts for text in (part.text, *part.also)]
    assert any(text.startswith("git push origin") for text in readings), readings


@pytest.mark.parametrize(
    "command",
    ["watch ls", "setsid ls", "ionice ls", "flock x ls", "find . -exec cat {} +", "find . -delete", "f() { ls; }"],
)
def test_what_runs_something_else_is_allowed_by_exact_rules_only(command, repository):
    assert any(part.exact for part in understand(command, repository).facts.parts)


@pytest.mark.parametrize(
    "command",
    ["rm -rf x", "git reset --hard", "dd if=a of=b", "mkfs /dev/x", "chmod -R 777 .", "git push -f", "git clean -fd"],
)
def test_what_destroys_is_called_destructive(command, repository):
    assert understand(command, repository).facts.destructive


def test_reading_elsewhere_is_reading_in_the_open_world(repository):
    facts = understand("gh pr view 1", repository).facts
    assert (facts.read_only, facts.open_world) == (True, True)


def test_hosts_are_named(repository):
    facts = understand("curl -s https://a.example/x && wget http://b.example", repository).facts
    assert facts.hosts == ("a.example", "b.example")
    assert not facts.read_only


class Case:
    def __init__(self, folder, tmp_path, rules=None, mode="default"):
        (folder / ".pegboard").mkdir(exist_ok=True)
        (folder / ".pegboard" / "settings.json").write_text(json.dumps({"permissions": rules or {}}))
        settings = load(folder, {"HOME": str(tmp_path / "home")}, trusted=True, managed=str(tmp_path / "none"))
        policy = Board(settings, [], plugins=[pegboard_rules], env={})
        self.ctx, self.tool = Context(folder, settings, mode, policy=policy), Bash()

    def __call__(self, command):
        args = BashInput(command=command)
        opinion = self.tool.check_permission(args, self.ctx)
        return decide_by_rules(self.tool, self.tool.facts(args, self.ctx), self.ctx, args, [opinion] if opinion else [])


def test_reading_is_allowed_and_reading_elsewhere_asks(own_repository, tmp_path):
    decide = Case(own_repository, tmp_path)
    assert isinstance(decide("cat README.md | wc -l"), Allow)
    assert decide("cat /etc/hostname").layer == "working-directory"
    assert decide("cd / && ls").layer == "working-directory"


def test_a_path_rule_reaches_the_files_of_a_command(own_repository, tmp_path):
    decide = Case(own_repository, tmp_path, {"deny": ["Read(.env)", "Bash(git push:*)"]})
    for command in ("cat .env", "head -5 ./.env", "cat .e*", "grep x < .env", "cat {a,.env}", "ls && cat .env"):
        (own_repository / ".env").write_text("x")
        assert isinstance(decide(command), Deny), command
    assert isinstance(decide("ls; timeout 3 git push"), Deny)


def test_a_redirect_needs_a_rule_of_its_own(own_repository, tmp_path):
    decide = Case(own_repository, tmp_path, {"allow": ["Bash(npm test:*)"]})
    assert isinstance(decide("npm test && ls"), Allow)
    assert isinstance(decide("npm test > out.txt"), Ask)
    assert isinstance(decide("npm test; x=1"), Ask)
    assert isinstance(decide("PATH=. npm test"), Ask)
    assert isinstance(decide("npm test $(rm x)"), Ask)
    assert isinstance(decide("f() { ls; }; npm test"), Ask)


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("mkdir -p a/b", True),
        ("touch a && rm a", True),
        ("cp README.md b", True),
        ("sed -i s/a/b/ README.md", True),
        ("echo x > out.txt", True),
        ("timeout 5 touch a", True),
        ("touch /etc/x", False),
        ("rm -rf .git", False),
        ("echo x > .bashrc", False),
        ("sed -i 's/a/touch x/e' README.md", False),
        ("sed -i -e 'w /etc/x' README.md", False),
        ("touch $x", False),
        ("cp a $(pwd)", False),
        ("npm test && touch a", False),
        ("find . -delete", False),
        ("FOO=1 touch a", False),
    ],
)
def test_accept_edits_lets_plain_file_commands_through(command, allowed, own_repository, tmp_path):
    decision = Case(own_repository, tmp_path, mode="acceptEdits")(command)
    assert isinstance(decision, Allow) is allowed, decision


@pytest.mark.parametrize("command", commands("critical"))
def test_deleting_what_much_depends_on_asks_in_every_mode(command, own_repository, tmp_path):
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        decision = Case(own_repository, tmp_path, {"allow": ["Bash"]}, mode)(command)
        assert (type(decision), decision.layer) == (Ask, "critical-path"), (mode, decision)


def test_importing_the_tool_loads_neither_parser_nor_table():
    code = "import sys, pegboard_bash; sys.exit('tree_sitter' in sys.modules or 'pegboard_bash.table' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_pieces_of_knowledge_are_offered_by_the_package():
    import pegboard_bash

    assert {name for name in pegboard_bash.__all__ if getattr(pegboard_bash, name) is None} == set()
    with pytest.raises(AttributeError):
        _ = pegboard_bash.nothing


@pytest.fixture
def edited(own_repository):
    """A repository with a folder, and a link that leads out of it."""
    (own_repository / "d").mkdir()
    (own_repository / "out").symlink_to("/etc")
    return own_repository


@pytest.mark.parametrize("command", commands("edit"))
def test_accept_edits_knows_what_stays_inside(command, edited, tmp_path):
    decision = Case(edited, tmp_path, mode="acceptEdits")(command)
    assert isinstance(decision, Allow), decision


@pytest.mark.parametrize("command", commands("no edit"))
def test_accept_edits_asks_about_all_else(command, edited, tmp_path):
    decision = Case(edited, tmp_path, mode="acceptEdits")(command)
    assert not isinstance(decision, Allow), decision
