"""A small repository to stand in, as the commands under test expect one, and a box to run them in."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pegboard import Tool
from pegboard_bash.repository import git_environment

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


def snapshot(folder: Path) -> dict[str, str]:
    """Everything below a folder: kinds, modes, contents and links."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            status = path.lstat()
            regular = path.is_file() and not path.is_symlink()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if regular else ""
            found[str(path)] = f"{status.st_mode:o} {digest} {os.readlink(path) if path.is_symlink() else ''}"
    return found


@lru_cache(maxsize=1)
def boxed() -> bool:
    """Whether bubblewrap works here."""
    if not shutil.which("bwrap"):
        return False
    probe = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def run_all(commands: list[str], base: Path) -> None:
    """Run commands one after the other in the folder `repo`, with `home` as home."""
    repo, home = base / "repo", base / "home"
    more = os.environ.get("PEGBOARD_TEST_PATH", "")
    env = {
        "PATH": f"/usr/bin:/bin:/usr/sbin:/sbin:{more}".rstrip(":"),
        "HOME": str(home),
        "TMPDIR": str(home),
        **git_environment(),
    }
    box: list[str] = []
    if boxed():
        box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp"]
        box += [
            "--bind",
            str(base),
            str(base),
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--chdir",
            str(repo),
        ]
    script = 'for each in "$@"; do timeout -s KILL 2 bash -c "$each" < /dev/null > /dev/null 2>&1; done'
    subprocess.run([*box, "bash", "-c", script, "bash", *commands], cwd=repo, env=env, check=False, capture_output=True)


@pytest.fixture(scope="session")
def box() -> SimpleNamespace:
    """Where commands are run for real: `run(commands, base)`, and `snapshot(base)` to see what has changed."""
    return SimpleNamespace(run=run_all, snapshot=snapshot)
