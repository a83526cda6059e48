"""Commands that were run and watched: what changes something must never be taken for reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pegboard_bash.programs import Program, known_programs, program_of, register_programs
from pegboard_bash.understanding import understand

CORPUS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "commands.jsonl").read_text().splitlines()
]
HARMFUL = [row["command"] for row in CORPUS if row["verdict"] == "not_read_only"]
READING = [row["command"] for row in CORPUS if row["verdict"] == "read_only"]
TRIED: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "tried_commands.jsonl").read_text().splitlines()
]
"""Commands written down class by class before they were judged; `asks` marks harmless ones that ask all the same."""

MORE = [json.loads(line) for line in (Path(__file__).parent / "data" / "more_commands.jsonl").read_text().splitlines()]
EXAMPLES = [
    (name, example, reads)
    for name, program in known_programs()
    for reads, examples in ((True, program.reads), (False, program.asks))
    for example in examples
]


@pytest.mark.parametrize("command", HARMFUL)
def test_a_harmful_command_is_never_taken_for_reading(command, repository):
    facts = understand(command, repository).facts
    assert not facts.read_only
    assert not facts.concurrency_safe
    assert facts.reason.endswith(".")


def test_reading_commands_are_taken_for_reading(repository):
    missed = [command for command in READING if not understand(command, repository).facts.read_only]
    assert len(missed) <= 0.03 * len(READING), missed


def test_none_of_the_tried_harmful_commands_is_taken_for_reading(repository):
    harmful = [row["command"] for row in TRIED if not row["reads"]]
    assert len(harmful) > 2_000
    assert [command for command in harmful if understand(command, repository).facts.read_only] == []


def test_the_tried_harmless_commands_are_taken_for_reading(repository):
    harmless = [row["command"] for row in TRIED if row["reads"] and not row.get("asks")]
    assert len(harmless) > 1_000
    assert [command for command in harmless if not understand(command, repository).facts.read_only] == []


@pytest.mark.parametrize(("command", "reads"), [(row["command"], row["reads"]) for row in MORE])
def test_further_commands_are_judged_as_written_down(command, reads, repository):
    assert understand(command, repository).facts.read_only is reads


@pytest.mark.parametrize(("name", "example", "reads"), EXAMPLES)
def test_each_example_of_the_table_is_judged_as_it_says(name, example, reads, repository):
    facts = understand(example, repository).facts
    assert facts.read_only is reads, facts.reason


def test_a_plugin_can_teach_programs_of_its_own(repository):
    register_programs({"acme-peek": Program("-v -n: --config=read", "read*")})
    assert understand("acme-peek -v -n 3 a", repository).facts.read_only
    assert understand("acme-peek --config=c a", repository).facts.reads == (repository / "c", repository / "a")
    assert "-x" in understand("acme-peek -x a", repository).facts.reason


def test_a_known_program_is_not_replaced_by_accident():
    before = program_of("rm")
    register_programs({"rm": Program("", "text*")})
    assert program_of("rm") is before


def test_the_same_command_is_judged_the_same_twice(repository):
    for command in READING + HARMFUL:
        assert understand(command, repository) == understand(command, repository)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("frobnicate x", "What frobnicate does is not known."),
        ("sort -o x y", "The option -o of sort may change something."),
        ("./ls", "./ls is named by its path, so it may be any program."),
        ("$x y", "Which program it runs is known only when it runs."),
        ("ls &", "Part of it continues in the background."),
        ("f() { ls; }", "It defines a function."),
        ("x=1; ls", "It sets a variable of the shell."),
        ("LD_PRELOAD=x ls", "The variable LD_PRELOAD may change what the command does."),
        ("ls 'a", "It cannot be parsed as a bash command."),
        ("ls " + "a" * 10_000, "It is longer than 10,000 characters."),
        ("ls\u200b", "It contains the invisible character U+200B, which hides what it does."),
        ("cd src && git status", "git in another directory may run what the configuration there says."),
        ("sort *", "* may expand to an option of sort. Quote it, or name the files."),
        ("echo hi > out", "A redirect writes out."),
        ("sort -\\\no x README.md", "A line break in the middle of a word may hide what the word is."),
        ("uniq a b", "b is an extra argument, with which uniq may change something."),
        ("cat /proc/self/environ", "/proc/self/environ may show the environment or the memory of a process."),
        ("cat <<EOF\n`rm x`\nEOF", "The shell expands this here-document. Quote its delimiter."),
    ],
)
def test_the_reason_says_why_it_asks(command, reason, repository):
    assert understand(command, repository).facts.reason == reason
