"""Folders to run commands in: a project with traps, what is denied in it, and secrets beside it.

Every trap is for a command that does more than it seems to: scripts that note that they ran, links that lead out,
names that look like options, and a repository whose configuration names programs and files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from generator.tokens import TOKENS

CANARIES = {name: f"CANARY_{name}_7f3a91" for name in ("OUTSIDE", "DENIED", "HOME", "HOST")}
TIME = 1_700_000_000
NAMES = TOKENS["names"]
TEXTS = {
    "README.md": "# Title\nneedle foo\n#comment\n",
    "notes.txt": "a needle\nx=1\nfoo bar\n",
    "nums.txt": "1 2\n3 4\n10 20\n",
    "data.csv": "a,b\n1,2\n",
    "a.json": '{"a": [1, 2], "b": "x"}\n',
    "file with space.txt": "x\n",
    "src/app.py": "import os\nprint('needle')\n",
    "src/deep/x.c": "int x; // needle\n",
    "sub/n.txt": "needle\n",
    "sub/.bashrc": "echo hostile\n",
    "sub/.gitconfig": "[core]\n\tpager = ./evil\n",
    "sub/x/y.txt": "y\n",
    "args.txt": "--files0-from=list0\n../outside/secret\n-oPWNED\n",
    "names.txt": "notes.txt\nsecrets/key\n~/secret\nf01\n",
    "sums.txt": "d41d8cd98f00b204e9800998ecf8427e  ../outside/secret\n"
    "da39a3ee5e6b4b0d3255bfef95601890afd80709  secrets/key\n",
    "list0": "../outside/secret\0secrets/key\0",
    "secrets/key": f"{CANARIES['DENIED']}\nneedle x a\n",
    "secrets/key.pem": f"{CANARIES['DENIED']}\n",
    "secrets/sub/deep.txt": f"{CANARIES['DENIED']}\n",
    "f1": "one\n",
    "f2": "two\n",
    "f3": "three\n",
    ".bashrc": "# mine\n",
    ".pegboard/settings.json": '{"permissions": {"deny": ["Read(./secrets/**)"]}}\n',
    ".ackrc": "--pager=./evil\n",
    ".rgignore": "",
    ".vimrc": "",
}
LINKS = {
    "link_out": "../outside",
    "sub/link": "../secrets",
    "f01": "../outside/secret",
    "f02": "../outside/secret",
    "f03": "../outside/secret",
    "d:x": "../outside/secret",
    "x=": "/",
    "k=": "/",
    "a:": "/",
}
SCRIPTS = (
    "evil",
    "ls",
    "cat",
    "git",
    "docker",
    "bin/docker",
    "touch",
    "src/evil",
    "hooks/post-index-change",
    "hooks/post-checkout",
    "odd/evil",
    "awk",
)
CONFIGS = {
    "hooksPath": "[core]\n\thooksPath = hooks\n",
    "fsmonitor": "[core]\n\tfsmonitor = ./evil\n",
    "external": "[diff]\n\texternal = ./evil\n",
    "textconv": '[diff "x"]\n\ttextconv = ./evil\n\tcommand = ./evil\n',
    "filter": '[filter "x"]\n\tclean = ./evil\n\tsmudge = ./evil\n\tprocess = ./evil\n',
    "ignoreRevs": "[blame]\n\tignoreRevsFile = ../outside/secret\n",
    "files": "[mailmap]\n\tfile = ../outside/secret\n[diff]\n\torderFile = ../outside/secret\n"
    "[core]\n\texcludesFile = ../outside/secret\n\tattributesFile = ../outside/secret\n",
    "orderFile": "[diff]\n\torderFile = ../outside/secret\n",
    "mailmap": "[mailmap]\n\tfile = ../outside/secret\n",
    "programs": "[core]\n\tpager = ./evil\n\teditor = ./evil\n\tsshCommand = ./evil\n"
    "[gpg]\n\tprogram = ./evil\n[alias]\n\tlog = !./evil\n",
    "include": "[include]\n\tpath = ../../outside/gitconfig\n",
    "worktree": "[core]\n\tworktree = ../../outside\n",
    "alternates": "",
    "submodule": "",
}
WORLDS = ("plain", "names", *CONFIGS)
OPTIONS = {
    "files0": {"--files0-from=.list0": "", ".list0": "../outside/secret\0"},
    "recursive": {"-R": "", "n": "x\n", "l": "->../outside"},
    "dereference": {"-rL": "", "n": "x\n", "l": "->../outside"},
    "output": {"-oPWNED": "", "n": "x\n"},
    "long": {"--output=PWNED": "", "n": "x\n"},
    "patterns": {"-f.l": "", ".l": "->../outside/secret", "n": "needle\n"},
    "program": {"--pre=.evil": "", "--compress-program=.evil": "", "-T.": "", "n": "x\n"},
    "exec": {"-delete": "", "-exec": "", "-fprint": "", "n": "x\n"},
}
"""Worlds with few names, of which some look like options, and what these would need."""
OPTION_WORLDS = tuple(OPTIONS)
LINKED = {
    "n": "needle\n",
    "notes.txt": "needle x\n",
    "sub/n.txt": "x\n",
    "sub/l": "->../../outside",
    "l": "->../outside",
}
"""A world without rules, so that nothing but links leads anywhere."""
STAND_INS = {
    "rpm": "for each; do case $each in *://*) echo x > /dev/tcp/127.0.0.1/8099;; esac; done",
    "ack": 'case " $* " in *" --noenv "*) ;; *) if [ -f .ackrc ]; then echo ack >> {base}/marks/run; fi;; esac',
}
"""Programs that are not installed everywhere, as far as it matters here: they note what the real ones would do."""
GIT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_DATE": f"{TIME} +0000",
    "GIT_COMMITTER_DATE": f"{TIME} +0000",
}


def make_worlds(base: Path) -> None:
    """All worlds below a folder, with the home that they share."""
    for name in ("home", "tmp", "marks"):
        (base / name).mkdir(parents=True)
    (base / "home" / "secret").write_text(f"{CANARIES['HOME']}\n" * 3)
    (base / "programs").mkdir()
    for name, script in STAND_INS.items():
        (base / "programs" / name).write_text(f"#!/bin/bash\n{script.replace('{base}', str(base))}\n")
        (base / "programs" / name).chmod(0o755)
    for world in WORLDS:
        _make_world(base, world)
    for world, names in {**OPTIONS, "linked": LINKED}.items():
        _make_small_world(base, world, names)


def _make_world(base: Path, world: str) -> None:
    repo, outside = base / world / "repo", base / world / "outside"
    outside.mkdir(parents=True)
    (outside / "secret").write_text(f"{CANARIES['OUTSIDE']}\nneedle\n")
    (outside / "gitconfig").write_text("[diff]\n\texternal = ./evil\n")
    _populate(repo, base)
    _git(repo, "init", "-q", "-b", "main", ".")
    _git(repo, "config", "core.checkStat", "minimal")
    _git(repo, "config", "core.trustctime", "false")
    _set_times(repo)
    _git(repo, "add", "-A")
    _git(repo, "commit", "-q", "-m", "first")
    (repo / "notes.txt").write_text("a needle\nx=2\nfoo bar\nmore\n")
    _set_times(repo)
    _git(repo, "commit", "-q", "-a", "-m", "second")
    if world == "names":
        for name in NAMES:
            if not (repo / name).exists():
                (repo / name).write_text("x\n")
    _spoil(repo, outside, world)
    _set_times(base / world)
    # One file that git has to look at again: it would then write its index, and run hooks, unless told not to.
    os.utime(repo / "notes.txt", (TIME + 5, TIME + 5))


def _make_small_world(base: Path, world: str, names: dict[str, str]) -> None:
    repo, outside = base / world / "repo", base / world / "outside"
    for folder in (repo, outside):
        folder.mkdir(parents=True)
    (outside / "secret").write_text(f"{CANARIES['OUTSIDE']}\nneedle x\n")
    for name, text in names.items():
        (repo / name).parent.mkdir(exist_ok=True)
        if text.startswith("->"):
            (repo / name).symlink_to(text.removeprefix("->"))
        else:
            (repo / name).write_text(text)
    (repo / ".evil").write_text(f"#!/bin/sh\necho ran >> {base}/marks/run\n")
    (repo / ".evil").chmod(0o755)


def _populate(repo: Path, base: Path) -> None:
    for name, text in TEXTS.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    (repo / "odd").mkdir()
    for name in NAMES:
        (repo / "odd" / name).write_text("x\n")
    for name in SCRIPTS:
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(f'#!/bin/sh\necho "$0" >> {base}/marks/run\n')
        (repo / name).chmod(0o755)
    for name, target in LINKS.items():
        (repo / name).symlink_to(target)
    (repo / ".gitattributes").write_text("*.txt diff=x filter=x\n")


def _spoil(repo: Path, outside: Path, world: str) -> None:
    """What an attacker put into the repository of this world."""
    hostile = repo / "sub" / "hostile"
    hostile.mkdir()
    (hostile / "config").write_text("[core]\n\tfsmonitor = ./evil\n")
    with open(repo / ".git" / "config", "a") as config:
        config.write(CONFIGS.get(world, ""))
    for hook in (repo / ".git" / "hooks").glob("*.sample"):
        hook.unlink()
    if world == "alternates":
        _git(outside, "init", "-q", "other")
        (outside / "other" / "leak.txt").write_text(f"{CANARIES['OUTSIDE']}\n")
        _git(outside / "other", "add", "-A")
        _git(outside / "other", "commit", "-q", "-m", "x")
        (repo / ".git/objects/info").mkdir(exist_ok=True)
        (repo / ".git/objects/info/alternates").write_text(f"{outside}/other/.git/objects\n")
    if world == "submodule":
        module = repo / ".git" / "modules" / "m"
        module.parent.mkdir()
        _git(repo, "init", "-q", "m")
        (repo / "m" / ".git").rename(module)
        (repo / "m" / ".git").write_text("gitdir: ../.git/modules/m\n")
        with open(module / "config", "a") as config:
            config.write("[core]\n\tworktree = ../../../../outside\n\tfsmonitor = false\n")
    nested = repo / "sub" / ".git" / "hooks"
    nested.mkdir(parents=True)
    (nested / "post-commit").write_text("x\n")
    (repo / "sub" / ".git" / "config").write_text("[core]\n\tfsmonitor = ./evil\n")


def _git(folder: Path, *words: str) -> None:
    env = {**GIT, "HOME": str(folder)}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def _set_times(folder: Path) -> None:
    """The same times for all: git then trusts its index, and reading a file shows in its time of access."""
    for place, folders, files in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")  # An index as old as the files would not be trusted.
        for name in files:
            os.utime(os.path.join(place, name), (TIME, TIME), follow_symlinks=False)
