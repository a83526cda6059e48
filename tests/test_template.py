"""The template: what it makes passes its own tests at once, is found when installed, and is gone when uninstalled."""

from __future__ import annotations

import itertools
import json
import os
import pty
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from .venvs import REPOSITORY, build_wheel, run
from .workshop import Workshop, said, started, workshop  # noqa: F401 - a fixture

ALL = list(itertools.product(("read-only", "mutating"), ("sync", "async"), ("text", "model")))
COVERING = [
    ("read-only", "sync", "text"),
    ("read-only", "async", "model"),
    ("mutating", "sync", "model"),
    ("mutating", "async", "text"),
]
"""Every pair of choices occurs once; PEGBOARD_TEST_SLOW=1 takes all of them."""
CHOICES = ALL if os.environ.get("PEGBOARD_TEST_SLOW") else COVERING
PEGBOARD = (sys.executable, "-m", "pegboard_cli")


def flags(access: str, style: str, output: str) -> list[str]:
    chosen = {"--mutating": access == "mutating", "--async": style == "async", "--output-model": output == "model"}
    return [flag for flag, given in chosen.items() if given]


def new(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [*PEGBOARD, "new", *words, "-o", str(folder)]
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_short_list_of_choices_has_every_pair() -> None:
    for first, second in itertools.combinations(range(3), 2):
        pairs = {(choice[first], choice[second]) for choice in COVERING}
        assert pairs == {(choice[first], choice[second]) for choice in ALL}


@pytest.mark.sample(2)
@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_a_new_tool_passes_its_tests_is_found_is_called_and_goes_away(
    choice: tuple[str, str, str],
    workshop: Workshop,  # noqa: F811
    tmp_path: Path,
) -> None:
    venv = tmp_path / "venv"
    programs = workshop.venv(venv, "pegboard-authors", "pegboard-cli", "pegboard-read")
    said(programs, tmp_path, "pegboard", "new", "Tally", "--author", "Acme Tools", "--family", "text", *flags(*choice))
    project = tmp_path / "acme-tools-tally"
    build_wheel(project, tmp_path / "dist", workshop.cache)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    workshop.install(venv, wheel)

    assert " passed" in said(programs, project, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    rows = {row["name"]: row for row in json.loads(said(programs, tmp_path, "pegboard", "tools", "--json"))}
    assert (rows["Tally"]["distribution"], rows["Tally"]["entry"]) == ("acme-tools-tally", "text.tally")
    (tmp_path / "a.txt").write_text("one two\n")
    line, number = (["line=three"], "2") if choice[0] == "mutating" else ([], "8")
    answer = said(programs, tmp_path, "pegboard", "call", "Tally", "file_path=a.txt", *line, "--yes")
    assert number in answer
    workshop.uninstall(venv, "acme-tools-tally")
    assert "Tally" not in said(programs, tmp_path, "pegboard", "tools")


@pytest.mark.sample(2)
@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_plain_cookiecutter_makes_the_same_and_it_is_clean(choice: tuple[str, str, str], tmp_path: Path) -> None:
    done = new(tmp_path / "ours", "Word Count", "--author", "Acme", *flags(*choice))
    assert done.returncode == 0, done.stderr
    words = [f"{key}={value}" for key, value in zip(("access", "style", "output"), choice, strict=True)]
    words.append("name=Word Count")
    command = [sys.executable, "-m", "cookiecutter", REPOSITORY, "--directory", "tool-template", "--no-input"]
    run(*command, "--default-config", "-o", tmp_path / "theirs", *words)

    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    project = tmp_path / "ours/acme-word-count"
    run(sys.executable, "-m", "ruff", "format", "--check", "--no-cache", project)
    run(sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "B,E,F,I,RUF,UP,W", project)


KINDS = {
    "policy": ("pegboard-read", "pegboard-write"),
    "provider": ("pegboard-read",),
    "command": ("pegboard-read",),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_of_each_kind_passes_its_tests_and_check_and_is_found(
    kind: str,
    workshop: Workshop,  # noqa: F811
    tmp_path: Path,
) -> None:
    venv, project = tmp_path / "venv", tmp_path / "acme-stamp"
    programs = workshop.venv(venv, "pegboard-authors", "pegboard-cli", *KINDS[kind])
    said(programs, tmp_path, "pegboard", "new", "Stamp", "--kind", kind)
    build_wheel(project, tmp_path / "dist", workshop.cache)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    workshop.install(venv, wheel)

    assert " passed" in said(programs, project, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    checked = started(programs, project, "pegboard", "check")
    assert (checked.returncode, checked.stdout.partition(" findings")[0]) == (0, "acme-stamp: no"), checked.stdout
    assert in_use(kind, programs, tmp_path)
    workshop.uninstall(venv, "acme-stamp")
    assert not in_use(kind, programs, tmp_path)


def in_use(kind: str, programs: Path, folder: Path) -> bool:
    """Whether the package does its work in a fresh process."""
    if kind == "policy":
        call = json.dumps({"file_path": "CHANGELOG.md", "content": ""})
        return "must stay as it is" in started(programs, folder, "pegboard", "why", "Write", call).stdout
    if kind == "provider":
        (folder / "stamp.json").write_text('{"provider": "stamp"}')
        done = started(programs, folder, "pegboard", "run", "--settings", "stamp.json", "Good morning")
        return done.stdout.strip() == "Good morning"
    return started(programs, folder, "pegboard", "stamp").stdout.splitlines() == ["Read"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_plain_cookiecutter_makes_the_same_of_each_kind_and_it_is_clean(kind: str, tmp_path: Path) -> None:
    assert new(tmp_path / "ours", "Stamp", "--kind", kind).returncode == 0
    command = [sys.executable, "-m", "cookiecutter", REPOSITORY, "--directory", "tool-template", "--no-input"]
    run(*command, "--default-config", "-o", tmp_path / "theirs", f"kind={kind}", "name=Stamp")

    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    project = tmp_path / "ours/acme-stamp"
    run(sys.executable, "-m", "ruff", "format", "--check", "--no-cache", project)
    run(sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "B,E,F,I,RUF,UP,W", project)
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", project / "src")


def test_only_word_count_counts_words(tmp_path: Path) -> None:
    new(tmp_path, "Word Count")
    new(tmp_path, "Stamp")
    asked, other = (tree(tmp_path / name) for name in ("acme-word-count", "acme-stamp"))
    assert any(b"words" in content for name, content in asked.items() if name.startswith("src"))
    assert not [name for name, content in other.items() if b"word" in content.lower() and name != "LICENSE"]


def test_options_about_tools_are_refused_for_other_kinds(tmp_path: Path) -> None:
    done = new(tmp_path, "Keep", "--kind", "policy", "--mutating")
    assert (done.returncode, tree(tmp_path)) == (2, {})
    assert done.stderr == "pegboard new: --mutating is an option for tools, not for a policy. Leave it out.\n"


def test_a_new_tool_is_fully_typed(tmp_path: Path) -> None:
    new(tmp_path, "Tally", "--mutating", "--async", "--output-model")
    done = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "acme-tally/src")
    assert "no issues found" in done.stdout


def test_a_new_tool_has_the_shape_of_read(tmp_path: Path) -> None:
    new(tmp_path, "Tally")
    ours = tomllib.loads((REPOSITORY / "plugins/files/read/pyproject.toml").read_text())
    made = tomllib.loads((tmp_path / "acme-tally/pyproject.toml").read_text())
    assert ours["project"].keys() <= made["project"].keys()
    assert made["project"]["entry-points"].keys() == ours["project"]["entry-points"].keys() - {"pegboard.settings"}
    assert made["project"]["entry-points"]["pegboard"] == {"text.tally": "acme_tally"}
    assert set(tree(tmp_path / "acme-tally")) == {
        *(".github/workflows/test.yml", ".gitignore", "LICENSE", "README.md", "pyproject.toml"),
        *("src/acme_tally/__init__.py", "src/acme_tally/py.typed", "src/acme_tally/tally.py", "tests/test_tally.py"),
    }


def test_a_new_tool_asks_for_a_core_like_this_one(tmp_path: Path) -> None:
    new(tmp_path, "Tally")
    project = tomllib.loads((tmp_path / "acme-tally/pyproject.toml").read_text())["project"]
    needs = [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["test"])]
    assert {need.name for need in needs} == {"pegboard-core", "pegboard-testing"}
    assert all(need.specifier.contains(version("pegboard-core")) for need in needs)


@pytest.mark.parametrize("name", ["WordCount", "word-count", "word_count", "Word Count"])
def test_a_name_may_be_spelt_as_the_author_likes(name: str, tmp_path: Path) -> None:
    assert new(tmp_path, name).returncode == 0
    source = (tmp_path / "acme-word-count/src/acme_word_count/word_count.py").read_text()
    assert "def WordCount(args: WordCountInput, ctx: Context)" in source


REFUSED = {
    "a built-in's name": (["Read"], "Read is the name of one of Pegboard's own tools."),
    "a digit first": (["1st"], "'1st' is no name for a tool."),
    "a keyword": (["Import"], "'import' is not a valid module name."),
    "our prefix": (["Tally", "--distribution", "pegboard-tally"], "looks like one of Pegboard's own."),
    "a bad distribution": (["Tally", "--distribution", "acme/tally"], "'acme/tally' is not a valid distribution name."),
    "a standard module": (["Tally", "--distribution", "json"], "would have the module 'json'"),
    "a family without tools": (["Tally", "--family", "policy"], "The family policy has no tools."),
    "a family in capitals": (["Tally", "--family", "Text"], "'Text' is not a valid family name."),
    "a policy among tools": (["Keep", "--kind", "policy", "--family", "text"], "A policy belongs to the family policy"),
    "a short description": (["Tally", "--description", "Count."], "The description is what the model reads."),
    "a description with quotes": (["Tally", "--description", 'Count """ and more.'], "without quotes and backslashes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_name_that_cannot_work_is_refused_and_nothing_is_made(case: str, tmp_path: Path) -> None:
    words, reason = REFUSED[case]
    done = new(tmp_path, *words)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert tree(tmp_path) == {}


def test_an_existing_folder_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "acme-tally").mkdir()
    (tmp_path / "acme-tally/mine.txt").write_text("mine")
    done = new(tmp_path, "Tally")
    assert (done.returncode, tree(tmp_path)) == (1, {"acme-tally/mine.txt": b"mine"})
    assert "already exists" in done.stderr


def test_without_a_name_and_a_terminal_it_says_what_to_write(tmp_path: Path) -> None:
    done = new(tmp_path)
    assert done.returncode == 2
    assert done.stderr == 'pegboard new: give the tool a name, such as pegboard new "Word Count".\n'


def test_on_a_terminal_it_asks(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"}
    command = [*PEGBOARD, "new", "-o", str(tmp_path)]
    with subprocess.Popen(command, env=env, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(ours, b"Tally\nAda\n\ny\n\n\n")
        output, error = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, error
    assert b"The tool's name, in words [Word Count]: " in output
    assert "Facts(" in (tmp_path / "ada-tally/src/ada_tally/tally.py").read_text()


def test_check_finds_what_an_author_left_undone(workshop: Workshop, tmp_path: Path) -> None:  # noqa: F811
    venv = tmp_path / "venv"
    programs = workshop.venv(venv, "pegboard-authors", "pegboard-cli")
    said(programs, tmp_path, "pegboard", "new", "Tally")
    project = tmp_path / "acme-tally"
    workshop.install(venv, "-e", project)
    good = started(programs, project, "pegboard", "check")
    assert (good.returncode, good.stdout.split(";")[0]) == (0, "acme-tally: no findings")

    tool = project / "src/acme_tally/tally.py"
    tool.write_text(
        "import requests\n"
        + tool.read_text()
        .replace("from __future__ import annotations\n", "")
        .replace(', open_world=False, search_hint="length of a text file"', "")
        .replace('    """The text file. A relative path starts at the working directory."""\n', "")
        .replace("    path = ctx.resolve", '    (ctx.cwd / "left.txt").touch()\n    path = ctx.resolve')
    )
    (project / "README.md").unlink()
    bad = started(programs, tmp_path, "pegboard", "check", project, "--json")
    found = json.loads(bad.stdout)
    assert (bad.returncode, found["ok"]) == (1, False)
    rules = {(row["rule"], row["where"]) for row in found["findings"]}
    assert rules >= {
        *(("heavy-import", "text.tally"), ("docs", "Tally"), ("docs", "Tally.file_path"), ("docs", "acme-tally")),
        *(("unsafe-default", "Tally"), ("contract:answers", "Tally")),
    }
    assert found["import_ms"]["text.tally"] > 0


def test_check_says_when_there_is_nothing_to_check(workshop: Workshop, tmp_path: Path) -> None:  # noqa: F811
    programs = workshop.venv(tmp_path / "venv", "pegboard-authors", "pegboard-cli")
    nothing = started(programs, tmp_path, "pegboard", "check")
    unknown = started(programs, tmp_path, "pegboard", "check", "acme-nothing")
    assert (nothing.returncode, unknown.returncode) == (2, 2)
    assert "has no pyproject.toml with a project name." in nothing.stderr
    assert "acme-nothing is not installed" in unknown.stderr
