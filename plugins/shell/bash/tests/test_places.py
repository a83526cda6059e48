"""Made-up commands that change folders: the files that change are those that were named, and no other git is run.

Everything runs in a throw-away folder, inside bubblewrap where it is installed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pegboard_bash.understanding import understand

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
MOVES = ["cd src", "cd ..", "cd .", "cd vendor/lib", "cd ./src/../tests", 'cd "$PWD/src"', "cd missing", "cd ~", "cd"]
EDITS = [
    *("touch made", "mkdir -p made/deep", "rm README.md", "rm -f app.py", "mv README.md moved", "cp README.md copy"),
    *(
        "sed -i s/a/b/ README.md",
        "sed -i 1d app.py",
        "cp -t src README.md",
        "cp -tsrc README.md",
        "mv -ft src nums.txt",
    ),
    *("cp README.md src", "cp -r src copied", "rm -rf src", "rmdir empty", "touch {one,two}", "echo x > out"),
    *("echo x >> README.md", "ls > out 2>&1", "ls 2> errors", "cat < README.md > out", "echo x >| src/out", ": > out"),
    *('touch "$PWD/here"', "echo x > $PWD/here", "cat <<'EOF' > out\nx\nEOF", "touch ../up", "cp app.py ../up"),
]
READS = ["ls", "ls 2>/dev/null | head", "cat README.md | wc -l", "true", "false", "test -f README.md", "git status"]
FORMS = [
    *(
        "{a} && {b}",
        "{a}; {b}",
        "{a} || {b}",
        "({a}; {b})",
        "{{ {a}; {b}; }}",
        "{a} | cat; {b}",
        "if {a}; then {b}; fi",
    ),
    *(
        "{a} > /dev/null && {b}",
        "{a} 2>&1 | cat && {b}",
        "{b}\n{a}",
        "! {a}; {b}",
        "timeout 5 {b}; {a}",
        "echo $({a}); {b}",
    ),
    *(
        "for x in 1 2; do {a}; done; {b}",
        "if false; then {a}; else {b}; fi",
        "{{ {a}; }} > /dev/null; {b}",
        "LANG=C {b}; {a}",
    ),
    *("while false; do {a}; done; {b}", "cat <({a}); {b}", "{a} && {b} | cat", "{a} && ! {b}", "command {a}; {b}"),
]


def composed(number: int) -> str:
    """A command that depends on the number alone."""
    chance = random.Random(number)
    command = chance.choice(EDITS if chance.random() < 0.7 else READS)
    for _ in range(chance.randrange(1, 4)):
        other = chance.choice(MOVES if chance.random() < 0.6 else EDITS + READS)
        first, second = (other, command) if chance.random() < 0.7 else (command, other)
        if "\n" in first + second:
            first, second = second.replace("\n", " "), first.replace("\n", " ")
        command = chance.choice(FORMS).format(a=first, b=second)
    return command


@pytest.fixture(scope="module")
def base(repository, tmp_path_factory):
    """A copy of the repository with a home beside it, and a hostile repository inside it."""
    folder = tmp_path_factory.mktemp("places")
    shutil.copytree(repository, folder / "repo")
    (folder / "home").mkdir()
    (folder / "repo" / "empty").mkdir()
    hostile = folder / "repo" / "vendor" / "lib"
    marker = f"touch {folder}/home/marker; true"
    for words in (["init", "-q"], ["config", "core.fsmonitor", marker]):
        subprocess.run(["git", *words], cwd=hostile, check=True)
    return folder


def copied(base: Path, work: Path) -> Path:
    """A fresh copy to run a command in."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work, symlinks=True)
    return work


def changed(command: str, work: Path, box: Any) -> set[str]:
    """Run a command and tell the paths that are new, gone or different."""
    before = box.snapshot(work)
    box.run([command], work)
    after = box.snapshot(work)
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def covered(path: str, named: list[str]) -> bool:
    """Whether a path is one of those named, or below one; a folder made on the way to one counts as well."""
    return any(path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/") for each in named)


@pytest.mark.timeout(3600)
def test_what_changes_is_what_was_named(base, tmp_path, box):
    for number in range(4000 if SLOW else 120):
        command = composed(number)
        work = copied(base, tmp_path / "work")
        facts = understand(command, work / "repo", str(work / "home")).facts
        if facts.open_world:
            continue
        named = [os.path.normpath(path) for path in (*facts.writes, *facts.deletes)]
        unnamed = {path for path in changed(command, work, box) if not covered(path, named)}
        assert not unnamed, (command, named)


@pytest.mark.timeout(3600)
def test_git_is_read_only_where_its_repository_was_looked_at(base, tmp_path, box):
    chosen = [composed(number) for number in range(40_000 if SLOW else 3_000)]
    commands = [
        each
        for each in chosen
        if "git status" in each and understand(each, base / "repo", str(base / "home")).facts.read_only
    ]
    assert commands
    for command in commands:
        assert not changed(command, copied(base, tmp_path / "work"), box), command
    assert not (base / "home" / "marker").exists()
