"""Made-up commands: each that is taken for reading is run in a throw-away folder, and nothing may change there.

Inside bubblewrap where it is installed; otherwise in a folder and home of their own with a bare environment.
`PEGBOARD_TEST_SLOW=1` tries many more. `PEGBOARD_TEST_PATH` names further folders with programs to run.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard_bash.programs import Program, known_programs
from pegboard_bash.table.gitoptions import BRANCHES, CONFIG, READING, TAGS
from pegboard_bash.understanding import understand

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
DATA = Path(__file__).parent / "data"
HANGING = (
    "tail -f",
    "sleep",
    "journalctl",
    "dmesg",
    "docker",
    "gh ",
    "kubectl",
    "lsof",
    "man ",
    "top",
    "git ls-remote",
)
FRAGMENTS = [
    *(
        "-o",
        "pwned",
        "-opwned",
        "--output=pwned",
        "--outp=pwned",
        "-i",
        "-w",
        "--",
        "-",
        "-exec",
        "touch",
        ";",
        "+",
        "{}",
    ),
    *("w pwned", "s/a/b/w pwned", "1e touch pwned", '{print > "pwned"}', 'BEGIN{system("touch pwned")}', "-delete"),
    *("README.md", "src", "src/app.py", "nums.txt", "*", "*.md", "src/*.py", ".", "..", "/dev/null", "-n", "-r", "-f"),
    *("%n", "-v", "+!touch", "@README.md", "a[$(touch pwned)]", "${x@P}", "${x[$(touch pwned)]}", "$[x]", "--help"),
    *("//proc/self/environ", "ext::sh", "--submodule=diff", "-c", "--exec=touch", "-I./x", "--to-command=x", "%G?"),
    *("$IFS", "${IFS}", "$x", "${x:-touch}", "${x:=a}", "$(touch pwned)", "`touch pwned`", "<(touch pwned)", "$((1))"),
    *(
        "{touch,pwned}",
        "{a,b}",
        "{1..3}",
        "'a b'",
        '"a b"',
        "a\\ b",
        "$'a\\tb'",
        "''",
        '""',
        "~",
        "#",
        "!",
        "=",
        "[",
        "]",
    ),
    *(
        "-fprint",
        "-T",
        "-z",
        "--pre",
        "-x",
        "-c",
        "-e",
        "-s",
        "-u",
        "-0",
        "-5",
        "HEAD",
        "HEAD~1",
        "--stat",
        "--ext-diff",
    ),
]
JOINTS = [
    " ",
    "  ",
    "\t",
    " && ",
    " || ",
    "; ",
    ";",
    " | ",
    "|",
    "\n",
    " & ",
    "&",
    " |& ",
    " \\\n ",
    " # ",
    "\r\n",
    "&&",
    "||",
]
PREFIXES = [
    *("timeout 5 ", "nice ", "time ", "command ", "env ", "env LANG=C ", "LANG=C ", "X=1 ", "PATH=. ", "xargs ", "! "),
    *("command cd src; ", "time -p ", "timeout -k 1 5 ", "nice -n 5 ", "env -u X ", "POSIXLY_CORRECT=1 ", "IFS=x "),
    *("cd src || ", "[[ a =~ b ]] || ", "test -f x && ", "printf -v x ", "until true; do ", "case a in a) ", "f() { "),
    *("builtin ", "eval ", "exec ", "bash -c ", "sudo ", "nohup ", "stdbuf -o0 ", "if true; then ", "for f in a; do "),
    *(
        "(",
        "{ ",
        "$(",
        "echo $(",
        'echo "$(',
        "cat <(",
        "[[ -n x ]] && ",
        "cd src && ",
        "while false; do ",
        "find . -exec ",
    ),
]
SUFFIXES = [
    *(
        " > pwned",
        " >> pwned",
        " 2>&1",
        " 2> pwned",
        " &> pwned",
        " > /dev/null",
        " < README.md",
        " <<< x",
        " >| pwned",
    ),
    *(
        ")",
        "; }",
        '")',
        "; fi",
        "; done",
        " &",
        " | tee pwned",
        " | sort -o pwned",
        " <<EOF\nx\nEOF",
        " <<'EOF' > pwned\nx\nEOF",
    ),
    *(
        " \\; ",
        " {} +",
        " -- pwned",
        " < README.md -o pwned",
        " 3<>pwned",
        " >&pwned",
        " <<EOF\n`touch pwned`\nEOF",
        " # x",
    ),
]


VALUES = ("1", "README.md", "-opwned", "--output=pwned", "-l")
OPERANDS = ("", "README.md", "README.md pwned", "-opwned README.md", "--output=pwned", "-- -l README.md")


def _rows(name: str) -> list[str]:
    return [json.loads(line)["command"] for line in (DATA / name).read_text().splitlines()]


@lru_cache(maxsize=1)
def seeds() -> list[str]:
    """Commands to start from: all that the tests know, but for those that wait or need a network."""
    examples = [each for _, program in known_programs() for each in (*program.reads, *program.asks)]
    found = [*_rows("commands.jsonl"), *_rows("more_commands.jsonl"), *examples]
    return sorted({each for each in found if len(each) < 200 and not any(word in each for word in HANGING)})


@lru_cache(maxsize=1)
def reading_seeds() -> list[str]:
    """Those that only read: a small change to one is likely to be taken for reading too."""
    return [each for each in seeds() if understand(each, "/").facts.read_only]


def quote(word: str, chance: random.Random) -> str:
    """The same word, spelled in another way."""
    if not word or not word.isascii():
        return word
    at = chance.randrange(len(word))
    ways = [f"'{word}'", f'"{word}"', f"{word[:at]}''{word[at:]}", f'{word[:at]}"{word[at]}"{word[at + 1 :]}']
    return chance.choice([*ways, f"{word[:at]}\\{word[at:]}", f"$'{word}'", f"{word[:at]}\\\n{word[at:]}"])


def mutate(command: str, chance: random.Random) -> str:
    """One change to a command."""
    words = command.split(" ")
    at = chance.randrange(len(words))
    kind = chance.randrange(11)
    if kind == 0:
        words[at] = quote(words[at], chance)
    elif kind == 1:
        words.insert(at + 1, chance.choice(FRAGMENTS))
    elif kind == 2:
        words[at] = chance.choice(FRAGMENTS)
    elif kind == 3:
        return chance.choice(PREFIXES) + command
    elif kind == 4:
        return command + chance.choice(SUFFIXES)
    elif kind == 5:
        return command + chance.choice(JOINTS) + chance.choice(seeds())
    elif kind == 6:
        return chance.choice(PREFIXES) + command + chance.choice(SUFFIXES)
    elif kind == 7:
        words[at] = words[at] + chance.choice(FRAGMENTS)
    elif kind == 8:
        words.insert(at + 1, chance.choice(options_of(words[0]) or FRAGMENTS))
    elif kind == 9:
        return chance.choice(["$IFS", "${IFS}", "\\\n", "\t", "$'\\x20'", "''"]).join(words)
    else:
        words[at : at + 2] = ["{" + ",".join(words[at : at + 2]) + "}"]
    return " ".join(words)


@lru_cache(maxsize=400)
def options_of(name: str) -> list[str]:
    """Every option that the table knows of a program."""
    return sorted({option for who, program in grammars() if who.split()[0] == name for option, _ in spellings(program)})


@lru_cache(maxsize=1)
def grammars() -> list[tuple[str, Program]]:
    """Every program and subcommand of the table that is described by its options, with the words that name it."""
    found = [(f"git {name}", program) for name, program in READING.items()]
    found += [("git branch", BRANCHES), ("git tag", TAGS), ("git config", CONFIG)]
    waiting = [(name, program) for name, program in known_programs() if not any(word in f"{name} " for word in HANGING)]
    while waiting:
        name, program = waiting.pop()
        waiting += [(f"{name} {word}", inner) for word, inner in program.subcommands.items()]
        if program.options and not program.changes:
            found.append((name, program))
    return sorted(found, key=lambda each: each[0])


def spellings(program: Program) -> list[tuple[str, bool]]:
    """The options of a program as they are written, and whether a value follows in a word of its own."""
    grammar = program.grammar
    found = [(f"-{letter}", value == ":") for letter, (value, _) in grammar.short.items()]
    return [*found, *((f"--{name}", value == ":") for name, (value, _) in grammar.long.items())]


@lru_cache(maxsize=1)
def table_commands() -> list[str]:
    """Every option that the table accepts, with values and operands that would show a mistake about it."""
    found: list[str] = []
    for name, program in grammars():
        for option, valued in spellings(program):
            for value in VALUES if valued else ("",):
                found += [f"{name} {option} {value} {operands}" for operands in OPERANDS]
        letters = program.grammar.short
        for first, (value, _) in letters.items():
            found += [f"{name} -{first}{second} README.md pwned" for second in letters if not value]
    return found


def made_up(number: int) -> str:
    """A command that depends on the number alone."""
    chance = random.Random(number)
    command = chance.choice(reading_seeds() if chance.random() < 0.8 else seeds())
    for _ in range(chance.randrange(1, 4)):
        command = mutate(command, chance)
    return command


def check(commands: list[str], base: Path, box: Any) -> None:
    """Run what is taken for reading and compare; a culprit is looked for one by one."""
    repo = base / "repo"
    reading = [each for each in commands if understand(each, repo, str(base / "home")).facts.read_only]
    before = box.snapshot(base)
    shutil.copytree(base, kept := base.with_name(f"{base.name}-kept"), symlinks=True, dirs_exist_ok=True)
    box.run(reading, base)
    if box.snapshot(base) != before:
        for each in reading:
            shutil.rmtree(base)
            shutil.copytree(kept, base, symlinks=True)
            box.run([each], base)
            assert box.snapshot(base) == before, f"taken for reading, but it changed something: {each!r}"
        pytest.fail(f"one of these changed something, though not by itself: {reading!r}")
    shutil.rmtree(kept)


@pytest.fixture(scope="module")
def base(repository, tmp_path_factory):
    """A copy of the repository with a home beside it."""
    folder = tmp_path_factory.mktemp("fuzz")
    shutil.copytree(repository, folder / "repo")
    (folder / "home").mkdir()
    return folder


@pytest.mark.timeout(3600)
@settings(
    max_examples=400 if SLOW else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(start=st.integers(0, 10_000_000))
def test_made_up_commands_that_are_taken_for_reading_change_nothing(start, base, box):
    check([made_up(number) for number in range(start * 100, start * 100 + 100)], base, box)


@settings(max_examples=4000 if SLOW else 80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.text(st.sampled_from(list("ls -o;|&<>$`(){}'\"\\\n *?[]#!=~ax")), max_size=30))
def test_any_text_is_judged_without_a_failure(command, base):
    facts = understand(command, base / "repo").facts
    assert facts.parts
    assert facts.read_only or facts.reason


def test_known_reading_commands_change_nothing(base, box):
    check([each for each in seeds() if understand(each, base / "repo").facts.read_only], base, box)


@pytest.mark.timeout(3600)
def test_every_option_that_the_table_accepts_changes_nothing(base, box):
    commands = table_commands() if SLOW else random.Random(7).sample(table_commands(), 200)
    for at in range(0, len(commands), 400):
        check(commands[at : at + 400], base, box)


def test_the_box_would_notice_a_change(base, box):
    before = box.snapshot(base)
    box.run(["touch pwned"], base)
    assert box.snapshot(base) != before
    (base / "repo" / "pwned").unlink()
