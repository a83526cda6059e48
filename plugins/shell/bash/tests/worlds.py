"""Hostile places to run commands in, and what a command did there: run in a box, looked at from outside."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pegboard_bash.repository import git_environment

CANARY = "canary-7f3a19"
"""Stands in every file that a command must not show."""

EVIL = "#!/bin/sh\ntouch PWNED\necho ran\n"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "core.hooksPath=/dev/null"]


def make_world(kind: str, base: Path) -> Path:
    """A folder `repo` with a `home` and an `outside` beside it."""
    repo = base / "repo"
    for name in ("repo/src", "repo/secrets", "repo/sub/.git", "repo/sub/.config/git", "repo/bin", "home", "outside"):
        (base / name).mkdir(parents=True)
    files = {
        "repo/README.md": "# Title\nfoo bar\n",
        "repo/a.txt": "one\ntwo\n",
        "repo/b.txt": "two\nthree\n",
        "repo/src/app.py": "import os\nprint('foo')\n",
        "repo/secrets/key": f"foo {CANARY}\n",
        "repo/sub/.git/config": "[core]\n\tevil = 1\n",
        "repo/sub/.config/git/config": "[core]\n\tevil = 1\n",
        "repo/sub/plain.txt": "plain\n",
        "repo/x": "payload\n",
        "repo/.bash": "old\n",
        "home/.secret": f"{CANARY}\n",
        "outside/note": f"foo {CANARY}\n",
    }
    for name, text in files.items():
        (base / name).write_text(text)
    for name in ("repo/evil", "repo/bin/docker"):
        (base / name).write_text(EVIL)
        (base / name).chmod(0o755)
    WORLDS[kind](repo)
    return repo


def _commit(repo: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    shutil.rmtree(repo / "sub" / ".git")
    for words in (["init", "-q", "--template=", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*GIT, *words], cwd=repo, env=env, check=True, capture_output=True)
    (repo / "sub" / ".git").mkdir()
    (repo / "sub" / ".git" / "config").write_text("[core]\n\tevil = 1\n")


def _plain(repo: Path) -> None:
    _commit(repo)


def _links(repo: Path) -> None:
    _commit(repo)
    (repo / "link").symlink_to("../outside")
    (repo / "src" / "note").symlink_to("../../outside/note")


def _names(repo: Path) -> None:
    """Files whose names are options, patterns, and commands for a shell that evaluates a name."""
    _links(repo)
    for name in ("-rf", "-R", "-o", "-v", "-eq", "-exec", "-f", "--", "@args", "a[$(touch PWNED)]", "-t", "--help"):
        (repo / name).write_text("foo\n")
    (repo / "--files0-from=list").write_text("")
    (repo / "list").symlink_to("../outside/note")
    (repo / "-flist").write_text("")


def _git(repo: Path) -> None:
    """A repository whose configuration names files and programs, and that borrows objects."""
    _commit(repo)
    with (repo / ".git" / "config").open("a") as file:
        file.write(f"[blame]\n\tignoreRevsFile = {repo.parent}/outside/note\n")


def _hooks(repo: Path) -> None:
    _commit(repo)
    hooks = repo / "hooks"
    hooks.mkdir()
    (hooks / "fsmonitor").write_text(f"#!/bin/sh\ntouch {repo}/PWNED\n")
    (hooks / "fsmonitor").chmod(0o755)
    with (repo / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {hooks}/fsmonitor\n")


def _alternates(repo: Path) -> None:
    _commit(repo)
    other = repo.parent / "outside" / "other"
    other.mkdir()
    (other / "private").write_text(f"{CANARY}\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q", "--template="], ["add", "-A"], ["commit", "-q", "-m", "p"]):
        subprocess.run([*GIT, *words], cwd=other, env=env, check=True, capture_output=True)
    (repo / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")


def _locked(repo: Path) -> None:
    _commit(repo)
    (repo / "locked").write_text("not a folder\n")
    (repo / "round").symlink_to("round")


WORLDS = {
    "plain": _plain,
    "links": _links,
    "names": _names,
    "git": _git,
    "hooks": _hooks,
    "alternates": _alternates,
    "locked": _locked,
}


def look(base: Path) -> dict[str, str]:
    """Everything below a folder but for what git rewrites when it refreshes its index."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(base):
        for name in (*folders, *files):
            path = Path(place, name)
            status = path.lstat()
            plain = stat.S_ISREG(status.st_mode)
            text = path.read_bytes().hex() if plain and name != "index" else ""
            found[str(path.relative_to(base))] = f"{status.st_mode:o} {text}"
    return found


SCRIPT = """
import json, os, shutil, subprocess, sys
for at, row in enumerate(json.load(sys.stdin)):
    base = f"{sys.argv[1]}/run{at}"
    shutil.copytree(f"{sys.argv[1]}/{row['world']}", base, symlinks=True)
    shutil.rmtree(f"{sys.argv[1]}/here", ignore_errors=True)
    os.rename(base, f"{sys.argv[1]}/here")
    with open(f"{sys.argv[1]}/out{at}", "wb") as out:
        try:
            subprocess.run(["bash", "-c", row["command"]], cwd=f"{sys.argv[1]}/here/repo", stdin=subprocess.DEVNULL,
                           stdout=out, stderr=out, timeout=5, env={**os.environ, "HOME": f"{sys.argv[1]}/here/home"})
        except subprocess.TimeoutExpired:
            pass
    os.rename(f"{sys.argv[1]}/here", base)
"""


def effects(rows: Iterable[dict[str, str]], base: Path) -> list[str]:
    """What each command does when it is run: `writes`, `shows` what it must not, or nothing."""
    rows = list(rows)
    worlds = {row["world"] for row in rows}
    before = {}
    for world in worlds:
        make_world(world, base / "here")
        before[world] = look(base / "here")
        (base / "here").rename(base / world)
    box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp"]
    box += ["--bind", str(base), str(base), "--unshare-all", "--die-with-parent", "--new-session"]
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", **git_environment()}
    subprocess.run(
        [*box, sys.executable, "-c", SCRIPT, str(base)],
        input=json.dumps(rows).encode(),
        env=env,
        check=True,
        capture_output=True,
    )
    return [_effect(base, at, before[row["world"]]) for at, row in enumerate(rows)]


def _effect(base: Path, at: int, before: dict[str, str]) -> str:
    after = look(base / f"run{at}")
    if after != before:
        return "writes"
    return "shows" if CANARY in (base / f"out{at}").read_text(errors="replace") else ""
