"""Runs inside the sandbox: each command in its world, and then a look at what has changed, been read or been called.

It needs nothing but the standard library. A line of JSON in is a job, a line out is what came of it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

SECONDS = 1.5
MOST_OUTPUT = 300_000
PORT = 8099
PATH = "/usr/local/bin:/usr/bin:/bin"
OLD = 1_000_000_000

Print = dict[str, tuple[int, int, int, int, int]]
Spawn = Callable[[list[str], str, dict[str, str]], tuple[bytes, bool]]


class Driver:
    """The worlds as they should be, and one command at a time in one of them."""

    def __init__(self, base: str, template: str, canaries: list[str], confine: list[str]) -> None:
        self.base, self.template = base, template
        self.spawn: Spawn = spawn_confined(confine, base) if confine else spawn
        self.canaries = [each.encode() for each in canaries]
        self.watched: dict[str, list[str]] = {}
        self.prints: dict[str, Print] = {}
        self.listener = socket.create_server(("127.0.0.1", PORT))
        self.listener.setblocking(False)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", PORT))
        self.udp.setblocking(False)
        for name in sorted(os.listdir(template)):
            self.restore(name)

    def restore(self, name: str) -> None:
        """Make a folder as it was at first."""
        place = f"{self.base}/{name}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(f"{self.template}/{name}", place, symlinks=True)
        self.watched[name] = [path for path in _files(place) if _is_secret(path)]
        for path in self.watched[name]:
            _age(path)
        self.prints[name] = fingerprint(place)

    def run(self, world: str, command: str, env: dict[str, str]) -> dict[str, object]:
        """Run one command and say what it did."""
        whole = {
            "PATH": f"{PATH}:{self.base}/programs",
            "HOME": f"{self.base}/home",
            "TMPDIR": f"{self.base}/tmp",
            "LANG": "C.UTF-8",
            **env,
        }
        dashes = ["--"] if command[:1] in ("-", "+") else []
        output, timed_out = self.spawn(["bash", "-c", *dashes, command], f"{self.base}/{world}/repo", whole)
        changed = [path for name in (world, "home", "marks") for path in self._changes(name)]
        found = {
            "changed": sorted(path.removeprefix(f"{self.base}/") for path in changed),
            "read": self._reads(world) + self._reads("home"),
            "shown": [each.decode() for each in self.canaries if each in output],
            "network": self._called(),
            "timed_out": timed_out,
        }
        for name in {path.removeprefix(f"{self.base}/").split("/")[0] for path in changed}:
            self.restore(name)
        return found

    def _changes(self, name: str) -> list[str]:
        now, before = fingerprint(f"{self.base}/{name}"), self.prints[name]
        return [path for path in now.keys() | before.keys() if now.get(path) != before.get(path)]

    def _reads(self, name: str) -> list[str]:
        found = []
        for path in self.watched[name]:
            with suppress(OSError):
                if os.stat(path).st_atime > OLD + 1:
                    found.append(path.removeprefix(f"{self.base}/"))
                    _age(path)
        if found:
            self.prints[name] = fingerprint(f"{self.base}/{name}")
        return found

    def _called(self) -> bool:
        called = False
        with suppress(OSError):
            while True:
                self.listener.accept()[0].close()
                called = True
        with suppress(OSError):
            self.udp.recv(10)
            called = True
        return called


def spawn(argv: list[str], cwd: str, env: dict[str, str]) -> tuple[bytes, bool]:
    """Run a command with all rights that there are in here: its output, and whether it had to be ended."""
    standard = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(argv, cwd=cwd, env=env, start_new_session=True, **standard)
    assert process.stdout is not None
    try:
        return _collected(process.stdout.fileno(), process.wait), False
    except TimeoutError:
        return b"", True
    finally:
        # Everybody else in this process namespace but its first process was started by the command.
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def spawn_confined(folders: list[str], base: str) -> Spawn:
    """The same, with the rights of a command that was approved as reading."""
    sys.path[:0] = folders
    from pegboard_confine import LANDLOCK, Access, confinement_for

    def spawn(argv: list[str], cwd: str, env: dict[str, str]) -> tuple[bytes, bool]:
        wanted = Access((cwd,), f"{base}/home", env["PATH"], repository=True, hidden=(f"{cwd}/secrets",))
        place = confinement_for(wanted, LANDLOCK)
        outlet, inlet = os.pipe()
        with open(os.devnull, "rb") as nothing:
            started = place.start(argv, cwd, env, (nothing.fileno(), inlet, inlet))
        os.close(inlet)
        try:
            return _collected(outlet, lambda: _await(started.poll)), False
        except TimeoutError:
            return b"", True
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            _await(started.poll)
            os.close(outlet)
            place.end()

    return spawn


def _await(poll: Callable[[], int | None]) -> None:
    while poll() is None:
        time.sleep(0.0005)


def _collected(outlet: int, wait: Callable[[], object]) -> bytes:
    found = bytearray()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        while len(found) < MOST_OUTPUT:
            data = os.read(outlet, 65536)
            if not data:
                wait()
                break
            found += data
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return bytes(found)


def fingerprint(folder: str) -> Print:
    """Everything below a folder, with what changes when somebody writes to it."""
    found: Print = {}
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        status = os.lstat(place)
        found[place] = (status.st_mode, status.st_ino, 0, status.st_mtime_ns, 0)
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    continue
                status = entry.stat(follow_symlinks=False)
                found[entry.path] = (
                    status.st_mode,
                    status.st_ino,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                )
    return found


def _files(folder: str) -> list[str]:
    return [os.path.join(place, name) for place, _, files in os.walk(folder) for name in files]


def _is_secret(path: str) -> bool:
    return "/outside/" in path or "/repo/secrets/" in path or path.endswith("/home/secret")


def _age(path: str) -> None:
    """An access long before the last change: the next one is noted, also where only some are."""
    status = os.lstat(path)
    os.utime(path, ns=(OLD * 10**9, status.st_mtime_ns), follow_symlinks=False)


def _late(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Serve jobs until there are no more."""
    setup = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGALRM, _late)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, 20_000_000))
    resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
    driver = Driver(setup["base"], setup["template"], setup["canaries"], setup["confine"])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(driver.run(job["world"], job["command"], job["env"])), flush=True)


if __name__ == "__main__":
    main()
