"""The commands on every page but the tutorial, typed into a shell in a small project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard_testing.warm import warm

from .pages import Step, blocks, install_word_count, play, steps
from .venvs import REPOSITORY

README = REPOSITORY / "README.md"
PAGES = [
    page
    for page in sorted(
        [
            *REPOSITORY.glob("*.md"),
            *REPOSITORY.glob("docs/**/*.md"),
            *REPOSITORY.glob("plugins/*/*/README.md"),
            REPOSITORY / "tool-template/README.md",
        ]
    )
    if steps(page) and page.parent.name != "tutorial"
]
NOT_TYPED = {
    r"python3 -m pip install -q --upgrade --target \.uv uv && .*": "it sets up a whole checkout; .ci/run does that",
    r"pip install [a-z -]+": "it asks an index; the names are compared with the projects here instead",
    r"pegboard run (--permission-mode auto )?\"[^\"]+\"( +# needs ANTHROPIC_API_KEY.*)?": "it asks a real model",
    r"pegboard run --provider openai --model \S+ \"[^\"]+\"": "it asks a real model",
    r"pegboard run( --continue)?": "it is a conversation on a terminal; the tests of pegboard-terminal hold them",
    r"\.uv/bin/uv sync -q --extra authors && \. \.venv/bin/activate": "the tests run in such an environment already",
    r"pip install -e \./acme-word-count": "it builds; the tutorial does that, and here the tool is put in place before",
    r"export (ANTHROPIC|OPENAI)_API_KEY=….*": "nobody's key",
    r"tox -e bench -- .*": "it measures for many minutes; the tests of the benchmarks run one of them",
    r"pegboard call WebSearch query=\"[^\"]+\".*": "it needs a search service",
    r"opentelemetry-instrument .*": "it needs a collector of spans",
    r"pegboard call WebFetch url=https://example\.com/": "it needs the internet",
}
CODES = {
    'pegboard why Bash command="git push"            # the decision and its reason; nothing runs': 4,
    'pegboard why Bash command="git push origin main"': 3,
    'pegboard call Edit file_path=app.py old_string="x = 1" new_string="x = 2"': 3,
}
"""Commands that end otherwise than well, because a rule says no or nobody is there to say yes."""


def reason_not_to_type(command: str) -> str | None:
    return next((reason for pattern, reason in NOT_TYPED.items() if re.fullmatch(pattern, command)), None)


def settings_of_the_page(page: Path, project: Path) -> None:
    (project / ".pegboard").mkdir()
    (project / ".pegboard/settings.json").write_text(blocks(page, "json")[0])


def script_of_the_page(page: Path, project: Path) -> None:
    (project / "script.jsonl").write_text(blocks(page, "json")[0])


def a_test_that_calls_a_tool(page: Path, project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests/test_it.py").write_text(
        "def test_it(call_tool):\n    assert call_tool('Glob', pattern='*').text\n"
    )


def an_environment_of_its_own(page: Path, project: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", project.parent / "venv"], check=True)


def an_installed_tool(page: Path, project: Path) -> None:
    """What `pegboard new` makes, where the shell's Python finds it."""
    install_word_count(project.parent / "site")


def a_patch(page: Path, project: Path) -> None:
    lines = ["*** Begin Patch", "*** Update File: a.txt", "@@", "-one", "+two", "*** End Patch"]
    (project / "change.patch").write_text("\n".join(lines))


def a_small_program(page: Path, project: Path) -> None:
    text = "def greet(name: str) -> str:\n    return name\n\n\ngreet(1)\n"
    (project / "app.py").write_text(text)


PREPARED: dict[str, Callable[[Path, Path], None]] = {
    "docs/how-to/build-a-restricted-bundle.md": an_environment_of_its_own,
    "docs/how-to/play-a-script.md": script_of_the_page,
    "docs/how-to/run-until-complete.md": script_of_the_page,
    "docs/how-to/undo-changes.md": script_of_the_page,
    "docs/how-to/wait-and-schedule.md": script_of_the_page,
    "docs/how-to/use-in-pipes-and-scripts.md": script_of_the_page,
    "docs/how-to/test-a-tool.md": a_test_that_calls_a_tool,
    "docs/how-to/write-a-permission-rule.md": settings_of_the_page,
    "README.md": an_installed_tool,
    "docs/how-to/use-language-servers.md": a_small_program,
    "plugins/files/patch/README.md": a_patch,
    "plugins/search/lsp/README.md": a_small_program,
    "plugins/host/authors/README.md": an_installed_tool,
}


def make_project(folder: Path) -> None:
    """A repository with something to read, find and change."""
    folder.mkdir()
    for name in ("README.md", "LICENSE"):
        (folder / name).write_text((REPOSITORY / name).read_text())
    (folder / "a.txt").write_text("one\n")
    (folder / "app.py").write_text("x = 1  # TODO: say what it is\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Start"]):
        subprocess.run([*git, *words], check=True)


def test_every_command_of_the_readme_works_as_shown(tmp_path: Path) -> None:
    type_all_of(README, tmp_path)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page != README], ids=lambda page: str(page.relative_to(REPOSITORY))
)
def test_every_command_of_a_page_works_as_shown(page: Path, tmp_path: Path) -> None:
    type_all_of(page, tmp_path)


def type_all_of(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_project(project)
    PREPARED.get(str(page.relative_to(REPOSITORY)), lambda page, project: None)(page, project)
    programs = [tmp_path / "venv/bin", Path(sys.executable).parent, Path(sys.base_prefix, "bin")]
    env = {
        "PATH": os.pathsep.join([*map(str, programs), "/usr/bin", "/bin"]),
        "HOME": str(warm(tmp_path / "home")),
        "LANG": "C.UTF-8",
    }
    if (tmp_path / "site").exists():
        env["PYTHONPATH"] = str(tmp_path / "site")
    play([step for step in steps(page) if not reason_not_to_type(step.command)], env, project, CODES)


def all_steps() -> list[Step]:
    return [step for page in PAGES for step in steps(page)]


def test_what_is_not_typed_or_fails_is_still_on_a_page() -> None:
    commands = {step.command for step in all_steps()}
    assert commands >= CODES.keys()
    assert not [pattern for pattern in NOT_TYPED if not any(re.fullmatch(pattern, command) for command in commands)]


def test_every_distribution_to_install_is_one_of_ours() -> None:
    projects = [*REPOSITORY.glob("plugins/*/*/pyproject.toml"), REPOSITORY / "core/pyproject.toml"]
    ours = {tomllib.loads(project.read_text())["project"]["name"] for project in projects}
    lines = [step.command for step in all_steps() if step.command.startswith("pip install pegboard")]
    assert len(lines) >= 10
    assert {name for line in lines for name in line.split()[2:]} <= ours
