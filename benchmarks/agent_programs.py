"""Agent command lines: how each is started without a person, and what its tools are called."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .harness import user_environment

PROMPT = "What is the capital of the country that this sentence does not name?"
MODEL = "claude-sonnet-4-5"
ALLOWED = ("true", "sleep 0.5")
"""The commands that the script runs."""


@dataclass
class Program:
    """One agent: its command, its environment, and the folder of its settings."""

    name: str
    command: list[str]
    env: dict[str, str]
    version: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    """Settings files by path, in which URL is replaced by the address of the server."""
    base: str = "URL"
    """What the variable ANTHROPIC_BASE_URL says, with the same replacement."""

    def place(self, url: str) -> dict[str, str]:
        """Write the settings, and return the environment."""
        for path, content in self.config.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(content).replace("URL", url))
        return {**self.env, "ANTHROPIC_BASE_URL": self.base.replace("URL", url)}

    def data(self) -> dict[str, Any]:
        """For another process."""
        return asdict(self)


def pegboard(home: Path) -> Program:
    """The `pegboard` of this environment."""
    script = Path(sys.executable).with_name("pegboard")
    rules = [word for command in ALLOWED for word in ("--allow", f"Bash({command})")]
    command = [str(script), "run", *rules, "--permission-mode", "acceptEdits", "--max-turns", "1000", PROMPT]
    return Program("pegboard", command, user_environment(home, ANTHROPIC_API_KEY="k"))


def claude_code(home: Path, script: str) -> Program:
    """Claude Code as a script uses it, without its own traffic."""
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    rules = [*(f"Bash({command})" for command in ALLOWED), "Grep", "Glob"]  # Naming these two switches them on.
    command = [script, "-p", PROMPT, "--permission-mode", "acceptEdits", "--allowedTools", *rules]
    return Program("claude code", command, user_environment(home, ANTHROPIC_API_KEY="k", **quiet))


def pi(home: Path, script: str) -> Program:
    """The tools of pi that are off by default are on where they work, so that searching is compared too."""
    settings = {str(home / ".pi/agent/models.json"): {"providers": {"anthropic": {"baseUrl": "URL"}}}}
    tools = "read,bash,edit,write,grep" + (",find" if shutil.which("fd") else "")  # It would download fd.
    command = [script, "-p", "--provider", "anthropic", "--model", MODEL, "--tools", tools, PROMPT]
    env = user_environment(home, ANTHROPIC_API_KEY="k", PI_OFFLINE="1", PI_TELEMETRY="0")
    return Program("pi", command, env, config=settings)


def opencode(home: Path, script: str) -> Program:
    """Everything is allowed, as no one can be asked."""
    allow = dict.fromkeys(("edit", "bash", "doom_loop", "external_directory"), "allow")
    config = {"permission": allow, "autoupdate": False, "share": "disabled"}
    settings = {str(home / ".config/opencode/opencode.json"): config}
    quiet = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    command = [script, "run", "--model", f"anthropic/{MODEL}", PROMPT]
    env = user_environment(home, ANTHROPIC_API_KEY="k", **quiet)
    return Program("opencode", command, env, config=settings, base="URL/v1")


PEERS: dict[str, tuple[str, str, Callable[[Path, str], Program]]] = {
    "claude code": ("@anthropic-ai/claude-code", "claude", claude_code),
    "pi": ("@mariozechner/pi-coding-agent", "pi", pi),
    "opencode": ("opencode-ai", "opencode", opencode),
}
"""Package, program, and how it is started."""

Call = tuple[str, dict[str, Any]]


def call_of(agent: str, kind: str, given: dict[str, Any]) -> Call:
    """A call in the words of an agent: the name of the tool and its input."""
    if agent == "pi":
        names = {"glob": "find"}
        words = {"file": "path"}
        if kind == "edit":
            given = {"file": given["file"], "edits": [{"oldText": given["old"], "newText": given["new"]}]}
    elif agent == "opencode":
        names = {}
        words = {"file": "filePath", "old": "oldString", "new": "newString"}
    else:
        names = {kind: kind.capitalize()}
        words = {"file": "file_path", "old": "old_string", "new": "new_string"}
    if kind == "bash" and agent != "pi":
        given = {**given, "description": "Do nothing of importance"}
    return names.get(kind, kind), {words.get(word, word): value for word, value in given.items()}


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process and of everything below it, those that have ended included."""
    total = 0.0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            total += sum(cpu_of(int(child)) for child in children)
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # It has just ended; its parent, which is read after it, has its time.
    return total + sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """The resident megabytes of a process and of everything below it."""
    total = 0.0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(memory_of(int(child)) for child in (task / "children").read_text().split())
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return total + pages * os.sysconf("SC_PAGE_SIZE") / 2**20
