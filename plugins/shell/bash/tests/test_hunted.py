"""What hunts have found, each as the smallest command that shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from pegboard_bash import Program, bash_printer, register_programs
from pegboard_bash.understanding import FAILED, understand
from pegboard_confine import LANDLOCK, available


@pytest.fixture
def repo(tmp_path):
    for name in ("repo/src", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside" / "secret").write_text("x\n")
    (tmp_path / "repo" / "link_out").symlink_to("../outside")
    return tmp_path / "repo"


@pytest.mark.parametrize("command", ["grep -rh x", "grep -rhe x", "grep -h -d recurse x", "rg -h x", "rg --version x"])
def test_a_letter_that_means_help_elsewhere_does_not_end_a_search(command, repo):
    assert [tree.folder for tree in understand(command, repo).trees] == [str(repo)]


@pytest.mark.parametrize("program", ["wc --", "wc -l --", "du --", "ls", "ls --", "cat", "head --", "md5sum --"])
def test_names_that_arrive_later_are_given_to_nobody_who_opens_them(program, repo):
    assert not understand(f"echo ../outside/secret | xargs {program}", repo).facts.read_only


@pytest.mark.parametrize("program", ["echo", "basename", "dirname --", "stat -c %s"])
def test_names_that_arrive_later_are_given_to_those_who_only_tell_them(program, repo):
    assert understand(f"echo a | xargs {program}", repo).facts.read_only


@pytest.mark.parametrize("word", ["$'\\000'", "$x", "$x/a", "$'\\ud800'", "$'\\ud800'*", "$'\\000'/a*b", "$'\\udfff'"])
@pytest.mark.parametrize(
    "program", ["cat", "du -L", "ls -LR", "diff -r b", "ag -f a", "tree -l", "grep -R x", "grep -r x", "find -L", "cd"]
)
def test_a_name_that_no_file_can_have_asks(program, word, repo):
    facts = understand(f"{program} {word}", repo).facts
    assert not facts.read_only
    assert facts.reason != FAILED


def test_an_error_while_understanding_asks_and_is_logged(repo, caplog):
    def check(words, effects):
        raise ZeroDivisionError

    register_programs({"acme-broken": Program(check=check)})
    facts = understand("ls; FOO=1 acme-broken x && rm -rf y", repo).facts
    assert (facts.read_only, facts.reason) == (False, FAILED)
    assert {"acme-broken x", "rm -rf y"} <= {text for part in facts.parts for text in part.also}
    assert "ZeroDivisionError" in caplog.text


def test_the_command_line_answers_with_a_decision_for_any_text(repo):
    commands = ["grep $'\\000'/a*b f", "du -L $x", "cat $'\\ud800'*", "diff -r $x b"]
    lines = "".join(json.dumps({"tool": "Bash", "input": {"command": each}}) + "\n" for each in commands)
    argv = [sys.executable, "-m", "pegboard_cli", "why", "--batch", "-"]
    env = {"HOME": str(repo.parent), "PATH": os.environ["PATH"]}
    ran = subprocess.run(argv, input=lines.encode(), env=env, cwd=repo, check=False, capture_output=True)
    assert [json.loads(line)["decision"] for line in ran.stdout.splitlines()] == ["ask"] * len(commands)


@pytest.mark.parametrize("command", ["grep -R x a b c", "rg -L x a b c", "diff -r a b; du -L c", "find -L a b c"])
def test_all_folders_of_a_line_share_one_bound(command, repo):
    for name in "abc":
        (repo / name).symlink_to("/")
    began = time.process_time()
    facts = understand(command, repo).facts
    assert time.process_time() - began < 1.5
    assert not facts.read_only


@pytest.mark.parametrize(
    "command",
    [
        "cd link_out/../repo; cat ../outside/secret",
        "cd link_out/../repo && ls",
        "cd src/../link_out/../outside; cat secret",
        "cd ./link_out/.././repo; ls",
    ],
)
def test_a_folder_behind_a_link_and_back_is_doubt(command, repo):
    assert not understand(command, repo).facts.read_only


@pytest.mark.parametrize("command", ["cd src/.. && ls", "cd src/../src; ls", "cd nowhere/..; ls"])
def test_a_folder_and_back_is_none(command, repo):
    assert understand(command, repo).facts.read_only


@pytest.mark.parametrize("test", ["-newer", "-anewer", "-cnewer", "-samefile", "-newerac"])
def test_what_find_compares_with_is_read(test, repo):
    assert repo / "../outside/secret" in understand(f"find . {test} ../outside/secret", repo).facts.reads


@pytest.mark.parametrize(
    "command",
    [
        "sha256sum -c list",
        "shasum --check list",
        "git hash-object --stdin-paths",
        "git ls-files --eol",
        "lsof +D ..",
        "top -bn1",
        "rpm -qa --qf '%(touch x)'",
        "zgrep x *",
    ],
)
def test_it_asks(command, repo):
    assert not understand(command, repo).facts.read_only


TEXTS = [
    "ls | wc; { a && b; } || c",
    "for x in a 'b c'; do echo $x; done",
    "cat <<'E'\nx\nE\n",
    "if a; then b; fi",
    "é",
]


@pytest.mark.skipif(available().kind != LANDLOCK, reason="there is no Landlock here")
@pytest.mark.parametrize("text", [*TEXTS, "if ls; fi", "echo 'a", "echo " + "{a,b}" * 1_500, "( " * 300])
def test_bash_prints_the_same_confined(text):
    bash = bash_printer._bash()
    assert bash
    assert bash_printer._confined(bash, text.encode()) == bash_printer._plain(bash, text.encode())


@pytest.mark.skipif(available().kind != LANDLOCK, reason="there is no Landlock here")
def test_bash_is_asked_where_it_can_see_nothing(repo):
    """Were a text ever run, or a file read: this is the same place with another program in it."""
    place = bash_printer._place(os.getpid())
    (repo / "started").touch()
    outlet, inlet = os.pipe()
    script = f"cat {repo}/../outside/secret; ls {repo}; touch {repo}/x; echo > /dev/tcp/127.0.0.1/80; echo end"
    with open(os.devnull, "rb") as nothing:
        started = place.start(("/bin/bash", "-c", script), "/", {}, (nothing.fileno(), inlet, inlet), None)
    os.close(inlet)
    with os.fdopen(outlet) as output:
        said = output.read()
    while started.poll() is None:
        time.sleep(0.001)
    assert said.count("Permission denied") >= 3
    assert (said.endswith("end\n"), (repo / "x").exists()) == (True, False)
