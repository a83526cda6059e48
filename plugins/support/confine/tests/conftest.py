"""A working directory, something outside of it, and a way to run a command confined to the one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pegboard_confine import LANDLOCK, Access, ResourceLimits, available, confinement_for

PATH = f"{os.path.dirname(sys.executable)}:{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"


@dataclass
class Ended:
    """How a command ended."""

    code: int
    text: str


@dataclass
class Room:
    """Where commands are run: `inside` is the working directory, `outside` belongs to another user."""

    inside: Path
    outside: Path
    wanted: Access
    kind: str = LANDLOCK
    limits: ResourceLimits = field(default_factory=ResourceLimits)

    def seeing(self, **more: object) -> Room:
        """The same room with something else to see."""
        return replace(self, wanted=replace(self.wanted, **more))  # type: ignore[arg-type]

    def run(self, command: str, *, on_start: Callable[[int], None] | None = None, seconds: float = 30) -> Ended:
        """Run a command of bash, confined."""
        place = confinement_for(self.wanted, self.kind)
        try:
            with tempfile.TemporaryFile() as output, open(os.devnull, "rb") as nothing:
                standard = (nothing.fileno(), output.fileno(), output.fileno())
                env = {"PATH": PATH, "HOME": self.wanted.home, "OUTSIDE": str(self.outside)}
                started = place.start(("bash", "-c", command), str(self.inside), env, standard, None, self.limits)
                if on_start:
                    on_start(started.pid)
                deadline = time.monotonic() + seconds
                while (code := started.poll()) is None:
                    if time.monotonic() > deadline:
                        os.killpg(started.pid, signal.SIGKILL)
                        raise TimeoutError(f"{command} does not end")
                    time.sleep(0.002)
                output.seek(0)
                return Ended(code, output.read().decode("utf-8", "replace"))
        finally:
            place.end()

    def python(self, code: str, *words: str) -> Ended:
        """Run a Python script, confined."""
        script = self.inside / "attack.py"
        script.write_text(code)
        return self.run(" ".join((sys.executable, "-I", "-S", "attack.py", *words)))

    def unconfined(self, *words: str) -> Ended:
        """The same script with all rights."""
        env = {"PATH": PATH, "OUTSIDE": str(self.outside)}
        argv = (sys.executable, "-I", "-S", str(self.inside / "attack.py"), *words)
        done = subprocess.run(argv, cwd=self.inside, env=env, capture_output=True, text=True, timeout=30, check=False)
        return Ended(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A room whose commands are held by Landlock."""
    found = available(LANDLOCK)
    if not found:
        pytest.skip(f"nothing can be confined here: {found.why}")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "notes.txt").write_text("notes\n")
    (outside / "secret.txt").write_text("secret\n")
    home = os.path.realpath(os.path.expanduser("~"))
    return Room(inside.resolve(), outside.resolve(), Access((str(inside.resolve()),), home, PATH))
