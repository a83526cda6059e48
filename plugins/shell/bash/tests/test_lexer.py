"""Our own reading of bash against bash: what really runs must be a command that was read."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from pegboard_bash.canonical import outline, pretty_printed, problem_with_bash
from pegboard_bash.lexer import Doubt
from pegboard_bash.second_reading import is_plain, second_reading
from pegboard_bash.syntax import Parser
from pegboard_bash.words import Word, finished

from .bash_texts import bash_text
from .conftest import boxed

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
MARKER = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" > "/tmp/log/$N.$$"
"""
LOOP = """n=0
timeout=$(command -v timeout)
while IFS= read -r -d '' text; do
  env -i N=$n PATH=/tmp/programs:/nowhere HOME=/home/u LC_ALL=C.UTF-8 $timeout -s KILL 3 /bin/bash --norc -c "$text"
  n=$((n + 1))
done < /tmp/texts > /dev/null 2>&1
exit 0
"""


def commands(text):
    """The commands that our reading finds, each a list of words."""
    parser = Parser(text)
    parser.script()
    return [[word for token in each.words for word in words(token)] for each in parser.commands]


def words(token):
    return [Word(token.source)] if token.spelling is None else finished(token.spelling, token.source, "/home/u")


def texts(command):
    return [word.text for word in command]


@pytest.fixture
def runs(tmp_path):
    """Runs texts in a box where the programs write down what they were given: a list of calls for each text."""
    for name in ("log", "programs"):
        (tmp_path / name).mkdir()
    for name in ("pa", "pb", "pc", "pd"):
        (tmp_path / "programs" / name).write_text(MARKER)
        (tmp_path / "programs" / name).chmod(0o755)

    def run(given):
        (tmp_path / "texts").write_bytes(b"".join(os.fsencode(text) + b"\0" for text in given))
        box = [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--tmpfs",
            "/home",
        ]
        for name in ("log", "programs", "texts"):
            box += ["--bind", str(tmp_path / name), f"/tmp/{name}"]
        box += ["--dir", "/tmp/work", "--chdir", "/tmp/work", "--unshare-all", "--die-with-parent"]
        subprocess.run([*box, "/bin/bash", "-c", LOOP], check=True, env={"PATH": "/usr/bin:/bin"})
        ran = [[] for _ in given]
        for log in (tmp_path / "log").iterdir():
            ran[int(log.name.partition(".")[0])].append(os.fsdecode(log.read_bytes()).split("\0")[:-1])
            log.unlink()
        return ran

    return run


def fits(call, command):
    """Whether a call may be what a command became: unknown words may be any number of words."""
    while command and command[0].text in ("time", "-p"):
        command = command[1:]
    if all(word.literal and not word.glob for word in command):
        return call == texts(command)
    pieces = [re.escape(word.text) if word.literal and not word.glob else ".*" for word in command]
    pattern = "\0".join(pieces).replace("\0.*", "(\0.*)?").replace(".*\0", "(.*\0)?")
    return re.fullmatch(pattern, "\0".join(call), re.DOTALL) is not None


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not boxed(), reason="needs bubblewrap")
def test_what_runs_was_read_as_a_command(runs):
    read = {}
    for seed in range(40_000 if SLOW else 400):
        text = bash_text(seed)
        try:
            read[text] = commands(text)
        except Doubt:
            continue
    assert len(read) > 150
    calls = runs(list(read))
    assert sum(map(len, calls)) > 150
    for text, made in zip(read, calls, strict=True):
        missed = [call for call in made if not any(fits(call, command) for command in read[text])]
        assert not missed, f"{text!r} runs {missed}, which was read as {read[text]}"


@pytest.mark.skipif(not boxed(), reason="needs bubblewrap")
def test_the_box_would_show_a_command_that_was_missed(runs):
    (first, second) = runs(["pa 'a b' \\  # pb", "pa $(pb x)"])
    assert first == [["pa", "a b", " "]]
    assert sorted(second) == [["pa"], ["pb", "x"]]
    assert not any(fits(["pb", "x"], command) for command in commands("pa 'pb x'"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a "$ $(b)"', [["b"], ["a", "$ \0"]]),
        ("a 1#$(b)", [["b"], ["a", "1#\0"]]),
        ("a `b` `c`", [["b"], ["c"], ["a", "\0", "\0"]]),
        ("a \\ #; b", [["a", " #"], ["b"]]),
        ("a $'\\\\' ; b #'", [["a", "\\"], ["b"]]),
        ("a <<'E' $(b)\n$(c)\nE\nd", [["b"], ["a", "\0"], ["d"]]),
        ("a <<E; b\n$(c)\nE", [["a"], ["b"], ["c"]]),
        ("a <<-E <<F\n\tx\n\tE\ny\nF\nb", [["a"], ["b"]]),
        ("a#b #c\nd", [["a#b"], ["d"]]),
        ("a <&-1 2>&1x", [["a", "1"]]),
        ("[ a || b ]", [["[", "a"], ["b", "]"]]),
        ("if a; then b; elif c; then d; else e; fi > f", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("case a in (b|c) d;; *) e;& f) g;; esac", [["d"], ["e"], ["g"]]),
        ("f() { a; }; function g { b; }", [["a"], ["b"]]),
        ("for ((i=0; i<3; i++)); do a; done; select x in b; do c; done", [["a"], ["c"]]),
        ("[[ a < b && ( c == d* ) ]] && e", [["e"]]),
        ("! a | b |& c & d", [["a"], ["b"], ["c"], ["d"]]),
        ("x=1 y=(b $(c)) a", [["c"], ["a"]]),
        ("a \\\n  b", [["a", "b"]]),
        ('a "${x:-$(b)}" ${y%"z"}', [["b"], ["a", "\0", "\0"]]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", "\0", "\0"]]),
        ("a `b \\`c\\``", [["c"], ["b", "\0"], ["a", "\0"]]),
        ("((a = 1)) && b $((1 + (2)))", [["b", "\0"]]),
        ("time -p a b", [["time", "-p", "a", "b"]]),
        ("a {b,c}d 'e f'", [["a", "bd", "cd", "e f"]]),
    ],
)
def test_commands_are_found_where_bash_finds_them(text, expected):
    assert [texts(command) for command in commands(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a 'b",
            'a "b',
            "a `b",
            "a $(b",
            "a ${x",
            "a $((1",
            "a $'b",
            "a \\",
            "(a",
            "{ a;",
            "if a; then b",
            "a )",
            "a;; b",
        ),
        *(
            "a\\\nb",
            "a &\\\n& b",
            "a $\\\n(b)",
            "a <<E",
            "a <<E\nb",
            "a <<$x\n$x",
            "a <<E 'b\nc'\nE",
            "a <<E\nb\\\nE\nE",
        ),
        *(
            "coproc a",
            "a $[1]",
            "a !(b)",
            "a @(b|c)",
            "x[1]=2",
            "a {v}>b",
            "a 2<(b)",
            "time { a; }",
            "a | time b",
            "; a",
        ),
        *(
            "a && ",
            "a | ",
            "a > ",
            "a > # b",
            "x=1 if a",
            "< b ! a",
            "${x'}'}",
            "$((a) )",
            "[[ a",
            "for a.b in c; do d; done",
        ),
    ],
)
def test_what_is_not_known_for_certain_is_doubt(text):
    assert second_reading(text).doubt


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls -l src | wc -l",
            "git log --format='%h %s' -n 3",
            'grep "a b" x && cat y || true',
            "cat < a; ls 2>/dev/null",
        ),
        *(
            "ls 2>&1 | head",
            "ls &>/dev/null",
            "git diff HEAD~1",
            "a &&\n b",
            "ls\n\npwd\n",
            "echo 'it; is $fine `here`'",
        ),
    ],
)
def test_the_closed_subset_holds_plain_commands(text):
    assert is_plain(text)
    parser = Parser(text)
    parser.script()
    assert second_reading(text).marks == parser.marks


@pytest.mark.parametrize(
    "sign", ["$", "`", "\\", "*", "?", "[", "]", "{", "}", "~", "(", ")", "&", "#", "!", "é", "\r", "<<", ">"]
)
def test_the_alphabet_of_the_subset_is_closed(sign):
    assert not is_plain(f"cat {sign}")
    assert not is_plain(f"cat a {sign} b")
    assert not is_plain(f"cat a{sign}b") or sign == "~"


@pytest.mark.parametrize(
    "text", ["if ls", "x=1", "x+=1 ls", "time ls", "! ls", "ls > out", "ls; ; ls", "ls |", "| ls", "ls <", '"$x"']
)
def test_what_is_more_than_words_is_outside_the_subset(text):
    assert not is_plain(text)


def test_bash_prints_a_text_and_runs_nothing(tmp_path, monkeypatch):
    (tmp_path / "env").write_text(f"touch {tmp_path}/made")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    printed = pretty_printed(f"touch {tmp_path}/made; echo $(touch {tmp_path}/made)")
    assert printed == f"touch {tmp_path}/made; echo $(touch {tmp_path}/made)\n\n"
    assert not (tmp_path / "made").exists()
    assert pretty_printed("if ls; fi") is None


@pytest.mark.parametrize(
    "text", ["if a; then b; fi | c", "a <<'E' | b && c\nx\nE\nd", "! a || ( b; c ) &", "for f in a; do b; done"]
)
def test_bash_confirms_where_commands_begin_and_end(text):
    assert problem_with_bash(text) == ""
    assert outline(text) == outline(pretty_printed(text))


def test_where_bash_reads_something_else_it_is_doubt():
    assert "bash parses it differently" in problem_with_bash("echo a >& b c; )")
