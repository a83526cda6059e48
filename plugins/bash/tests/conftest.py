"""A small repository to stand in, as the commands under test expect one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pegboard import Tool

GIT_ENV = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={**GIT_ENV, "HOME": str(folder)}, check=True, capture_output=True)


def make_repository(folder: Path) -> Path:
    for name in ("src", "tests", "vendor/lib"):
        (folder / name).mkdir(parents=True)
    files = {
        "README.md": "# Title\nfoo bar\n#comment\n",
        "src/app.py": "import os\n\ndef main():\n    print('hello')\n",
        "tests/test_app.py": "def test():\n    pass\n",
        "package.json": '{"name": "x", "version": "1.0.0", "dependencies": {}}\n',
        "nums.txt": "1 2\n3 4\n",
        "file with space.txt": "x\n",
        "vendor/lib/a.c": "int a;\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "README.md").write_text("# Title\nfoo baz\n")
    git(folder, "commit", "-q", "-a", "-m", "second")
    return folder


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test changes."""
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def own_repository(tmp_path: Path) -> Path:
    """A repository for one test."""
    return make_repository(tmp_path / "own")


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    """Commands for the contract suite: one that reads, one that writes, one that takes its time."""
    commands = ("cat notes.txt", "echo new > made.txt", "sleep 2.2")
    return [{"command": command} for command in commands] if tool.name == "Bash" else None
