"""A project in a temporary folder, and commands that run in the sandbox there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pegboard import Context, ProcessSpec
from pegboard.settings import Layer, Settings
from pegboard_processes import ProcessExit
from pegboard_processes.service import LocalProcesses
from pegboard_sandbox import bubblewrap, hooks

KEY = "sk-host-0123456789abcdef0123456789"

GROUP = {
    "network": "network.mode",
    **{name: f"network.{name}" for name in ("allowedDomains", "deniedDomains", "allowUnixSockets")},
    **{name: f"filesystem.{name}" for name in ("allowWrite", "denyWrite", "denyRead", "allowRead")},
}
"""Where a setting of the sandbox stands; a test names it by its last name."""


class Box:
    """Runs shell commands in the sandbox of one project."""

    key = KEY

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env: dict[str, str] = {}

    def context(self, **settings: Any) -> Context:
        values: dict[str, Any] = {"sandbox.enabled": True}
        for name, value in settings.items():
            values[name if "." in name else f"sandbox.{GROUP.get(name, name)}"] = value
        return Context(self.root, settings=Settings([Layer("user", "user.json", values)], cwd=str(self.root)))

    def processes(self, **settings: Any) -> LocalProcesses:
        ctx = self.context(**settings)

        async def wrap(spec: ProcessSpec) -> ProcessSpec:
            return hooks.wrap_process(spec, ctx) or spec

        return LocalProcesses(env={**os.environ, **self.env}, wrap=wrap, grace=0.5)

    async def sh(self, script: str, *, writable: tuple[Path, ...] | None = None, **settings: Any) -> str:
        """What a command prints, its errors included, with the exit code where that is not 0."""
        ended, output = await self.run(("sh", "-c", script), writable=writable, **settings)
        return output + (f"[exit {ended.code}]" if ended.code else "")

    async def run(
        self, argv: tuple[str, ...], *, writable: tuple[Path, ...] | None = None, **settings: Any
    ) -> tuple[ProcessExit, str]:
        output = bytearray()
        roots = (self.root,) if writable is None else writable
        spec = ProcessSpec(argv, self.root, writable=roots, timeout=20, keep_output=False)
        ended = await self.processes(**settings).run(spec, on_output=output.extend)
        hooks.tidy()
        return ended, output.decode()


@pytest.fixture
def new_box() -> type[Box]:
    """Runs commands in a folder of the test's choice."""
    return Box


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ACME_API_KEY", KEY)
    monkeypatch.setattr(hooks, "LEDGERS", {})
    return tmp_path / "state" / "pegboard" / "sandbox"


@pytest.fixture
def box(tmp_path: Path, state: Path) -> Box:
    """A project with a sandbox of bubblewrap, where this machine lets one be made."""
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    root = tmp_path / "project"
    root.mkdir()
    return Box(root.resolve())


Snapshot = Callable[[], dict[str, str]]


@pytest.fixture
def tree(box: Box) -> Snapshot:
    """What the host sees of the project."""

    def look() -> dict[str, str]:
        return {
            str(path.relative_to(box.root)): path.read_text(errors="replace") if path.is_file() else "/"
            for path in sorted(box.root.rglob("*"))
        }

    return look
