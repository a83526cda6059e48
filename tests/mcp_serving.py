"""A real `pegboard mcp serve` for tests: over pipes or on a loopback port, with plugins written by the test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard_testing.warm import warm

TOKEN = "a-token-that-only-tests-know"
ELDER = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
SECONDS = 60.0


@dataclass
class World:
    """A folder to work in, a home of its own, and a place for plugins."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project, self.home, self.site = (self.folder / name for name in ("project", "home", "site"))
        for place in (self.project, self.home, self.site):
            place.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD_", "ANTHROPIC_"))}
        kept.pop("PEGBOARD_MCP_TOKEN", None)
        return {
            **kept,
            "HOME": str(warm(self.home)),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "PYTHONPATH": str(self.site),
        } | self.variables

    def plugin(self, module: str, source: Path | str) -> None:
        """Install a plugin that is one module."""
        if isinstance(source, Path):
            shutil.copy(source, self.site / f"{module}.py")
        else:
            (self.site / f"{module}.py").write_text(source)
        info = self.site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pegboard]\nacme.{module} = {module}\n")

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "pegboard_cli", "mcp", "serve", "--cwd", str(self.project), *words]

    @contextmanager
    def pipes(self, *words: str) -> Iterator[Pipes]:
        """A server that this process talks to line by line."""
        pipe = subprocess.PIPE
        with (self.folder / "stderr.log").open("ab") as errors:
            process = subprocess.Popen(self.command(*words), env=self.env, stdin=pipe, stdout=pipe, stderr=errors)
        with process:
            try:
                yield Pipes(process)
            finally:
                process.kill()

    @contextmanager
    def http(self, *words: str, address: str = "127.0.0.1:0", token: str = TOKEN) -> Iterator[Listening]:
        """A server on a loopback port."""
        log = self.folder / f"server-{time.monotonic_ns()}.log"
        env = {**self.env, "PEGBOARD_MCP_TOKEN": token} if token else self.env
        with log.open("wb") as errors:
            process = subprocess.Popen(self.command("--http", address, *words), env=env, stderr=errors)
        try:
            found = wait_for(lambda: re.search(r"at http://\S+:(\d+)/mcp\n(.*\n)*", log.read_text()), process)
            yield Listening(process, int(found[1]), log)
        finally:
            process.terminate()
            try:
                process.wait(SECONDS)
            finally:
                process.kill()


@dataclass
class Pipes:
    """The two pipes to a server, in the older protocol."""

    process: subprocess.Popen[bytes]
    _ids: int = 0

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server has closed its end"
        return json.loads(line)  # type: ignore[no-any-return]

    def send(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> int:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}, **more}
        self.write(json.dumps(message).encode())
        return self._ids

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer; what else arrives is dropped."""
        wanted = self.send(method, params)
        while True:
            message = self.read()
            if message.get("id") == wanted and "method" not in message:
                return message

    def open(self, **capabilities: Any) -> dict[str, Any]:
        answer = self.ask("initialize", {**ELDER, "capabilities": capabilities})
        self.tell("notifications/initialized")
        return answer["result"]  # type: ignore[no-any-return]

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]  # type: ignore[no-any-return]


@dataclass
class Listening:
    """A server on a port."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def wait_for(look: Any, process: subprocess.Popen[bytes] | None = None, seconds: float = SECONDS) -> Any:
    """What `look` returns, once it is true."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen in time"
        assert process is None or process.poll() is None, "the server has ended"
        time.sleep(0.02)
    return found


def processes_with(mark: str) -> list[int]:
    """The ids of processes whose command line has this word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes().replace(b"\0", b" ").split():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def runs(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
