"""Say to bubblewrap what a process may see and change."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

HIDDEN = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - these are hidden, not used
"""Where sockets and other people's temporary files are. Each process finds them empty, and its own."""

FLAGS = (
    *("--die-with-parent", "--new-session", "--unshare-user", "--disable-userns"),
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
)
PLACES = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/run/current-system/sw/bin"
PRELUDE = 'exec 9>"$0"; echo $$ >&9; exec "$@"'
"""Gives bubblewrap a status file. The shell becomes bubblewrap: nobody stands between it and the host."""

Mounts = dict[str, tuple[str, ...]]
"""What lies where: for each path the words for bubblewrap, to be given from the outermost path inwards."""


def read_only(path: str) -> tuple[str, ...]:
    """A path as it is, not to be changed. A mount point can neither be renamed nor removed."""
    return ("--ro-bind", path, path)


def writable(path: str) -> tuple[str, ...]:
    """A path as it is, to be changed."""
    return ("--bind", path, path)


def empty(path: str) -> tuple[str, ...]:
    """An empty folder that refuses every change; nothing in it ever reaches the disk."""
    return ("--perms", "0555", "--size", "4096", "--tmpfs", path)


def own(path: str) -> tuple[str, ...]:
    """An empty folder of the process's own."""
    return ("--perms", "0700", "--tmpfs", path)


def nothing(path: str) -> tuple[str, ...]:
    """A file without content in place of a file or socket."""
    return ("--ro-bind", "/dev/null", path)


def command(program: str, mounts: Mounts, cwd: str, *, network: bool, status: str = "") -> tuple[str, ...]:
    """The words that come before the command itself."""
    words = [program, *FLAGS, *(() if network else ("--unshare-net",))]
    if status:
        words += ["--json-status-fd", "9"]
    words += ["--ro-bind", "/", "/"]
    for path in sorted(mounts, key=lambda path: path.split("/")):
        words += mounts[path]
    words += ["--chdir", cwd, "--"]
    return ("/bin/sh", "-c", PRELUDE, status, *words) if status else tuple(words)


def sockets() -> list[str]:
    """The sockets with a path that somebody on this machine listens at: a read-only mount does not stop a connect."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return []
    found = {words[7] for line in lines if len(words := line.split(maxsplit=7)) == 8 and words[7].startswith("/")}
    return [path for path in sorted(found) if os.path.exists(path)]


@cache
def trouble(program: str | None) -> str:
    """Why bubblewrap cannot be used here, or nothing. Found out by running it once."""
    if program is None:
        return "bwrap is not installed"
    mounts: Mounts = {"/proc": ("--proc", "/proc"), "/dev": ("--dev", "/dev")}
    words = (*command(program, mounts, "/", network=False), "true")
    try:
        done = subprocess.run(words, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run ({error})"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else f"bwrap is refused ({said[-1] if said else done.returncode})"


@cache
def find() -> str | None:
    """Where bubblewrap is. Not looked for in folders that the project could bring along."""
    return shutil.which("bwrap", path=PLACES)
