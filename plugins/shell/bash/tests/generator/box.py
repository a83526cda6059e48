"""The sandbox from outside: bubblewrap with a root that cannot be written, no network, and a driver within."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from generator.world import CANARIES

DRIVER = Path(__file__).with_name("driver.py")
TEMPLATE = "/tmp/.template"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    changed: tuple[str, ...]
    read: tuple[str, ...]
    shown: tuple[str, ...]
    network: bool
    timed_out: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of harm, for a mode in which nothing may change."""
        found = ["executed"] if any(path.startswith("marks") for path in self.changed) else []
        found += ["wrote"] if any(not path.startswith("marks") for path in self.changed) else []
        places = [*self.read, *self.shown]
        found += ["read denied"] if any("/secrets/" in each or "DENIED" in each for each in places) else []
        found += ["read outside"] if any("/secrets/" not in each and "DENIED" not in each for each in places) else []
        found += ["network"] if self.network else []
        return tuple(found)


@cache
def why_unavailable() -> str:
    """Why there is no such sandbox here, as a sentence; empty where there is one."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed, so made-up commands cannot be run"
    probe = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        return "bubblewrap does not work here, so made-up commands cannot be run"
    return ""


class Box:
    """A running sandbox. `run()` is one command in one world."""

    def __init__(self, base: Path, confine: Sequence[str] = ()) -> None:
        self._base, self._confine = base, list(confine)
        """`confine`: where the library that confines commands is imported from, where they are to run confined."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Box:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, world: str, command: str, env: dict[str, str]) -> Outcome:
        """Run a command and say what it did."""
        for _ in range(2):
            try:
                found = self._ask({"world": world, "command": command, "env": env})
                break
            except (BrokenPipeError, EOFError):  # It was ended from within; a fresh one starts.
                self.close()
        else:
            raise RuntimeError(f"the sandbox ends whenever this command runs: {command!r}")
        return Outcome(
            tuple(found["changed"]), tuple(found["read"]), tuple(found["shown"]), found["network"], found["timed_out"]
        )

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        return self._answer(process)

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise EOFError
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[str]:
        base = str(self._base)
        argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        argv += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp"]
        argv += ["--ro-bind", base, TEMPLATE, "--tmpfs", base, "--chdir", "/"]
        # The project itself may be in /tmp.
        for folder in [str(DRIVER.parent), *self._confine]:
            argv += ["--ro-bind-try", folder, folder]
        argv += [os.path.realpath(sys.executable), "-I", "-S", str(DRIVER)]
        # In the environment only: the words of a command line are shown to everybody by `ps`.
        env = {"PATH": "/usr/bin:/bin", "HOST_API_KEY": CANARIES["HOST"]}
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        setup = {"base": base, "template": TEMPLATE, "canaries": list(CANARIES.values()), "confine": self._confine}
        assert process.stdin
        process.stdin.write(json.dumps(setup) + "\n")
        process.stdin.flush()
        if not self._answer(process).get("ready"):
            raise RuntimeError("the driver in the sandbox did not start")
        self._process = process
        return process

    def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin
            assert process.stdout
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
            process.wait(20)
            process.stdout.close()
