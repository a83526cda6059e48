"""The interpreters: which program runs code, and how it is started."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from pegboard import Context, ProcessSpec, ToolError

Language: TypeAlias = Literal["python", "node"]

CHANNEL = 'exec 3>&1 4<&0 5>&2 1>&2 0</dev/null; exec "$@"'
"""Code must not meet the channel by printing: it moves out of the way before the interpreter starts."""
NO_LIMIT = 1 << 62
"""An interpreter may print any amount in its life; of each run only the two ends are kept."""
WORKERS: dict[Language, tuple[str, str]] = {"python": ("-c", "python_worker.py"), "node": ("-e", "node_worker.js")}
TITLES: dict[Language, str] = {"python": "Python", "node": "Node"}


def specification(language: Language, ctx: Context) -> ProcessSpec:
    """The process of an interpreter that starts in the working directory."""
    program = _python(ctx) if language == "python" else _node(ctx)
    option, worker = WORKERS[language]
    # As text and not as a path: a sandbox may hide where this package is installed.
    source = (files("pegboard_repl") / worker).read_text("utf-8")
    megabytes = ctx.settings.get("repl.maxMemoryMb")
    began = Path(ctx.settings.cwd)
    own = (began, ctx.cwd) if ctx.agent.depth == 0 else (ctx.cwd,)
    named = (began / os.path.expanduser(name) for name in ctx.settings.get("permissions.additionalDirectories", []))
    return ProcessSpec(
        argv=("sh", "-c", CHANNEL, "sh", program, option, source),
        cwd=ctx.cwd,
        env={"MPLBACKEND": "Agg", **_variables(ctx)},
        writable=tuple(dict.fromkeys((*own, *ctx.roots, *named))),
        max_output_bytes=NO_LIMIT,
        max_memory_bytes=megabytes * 1_000_000 if megabytes else None,
        keep_output=False,
    )


def _variables(ctx: Context) -> dict[str, str]:
    """What a hook has set for commands of this session."""
    found = ctx.services.others.get("shell_environment")
    return dict(found) if isinstance(found, dict) else {}


def _python(ctx: Context) -> str:
    chosen = ctx.settings.get("repl.python")
    if not chosen:
        return sys.executable
    # Not resolved: a virtual environment is known by the link, not by what it leads to.
    path = Path(ctx.settings.root, os.path.expanduser(chosen))
    found = str(path) if os.sep in chosen and path.exists() else shutil.which(chosen)
    return found or _missing("Python", chosen, "repl.python")


def _node(ctx: Context) -> str:
    chosen = ctx.settings.get("repl.node")
    return shutil.which(os.path.expanduser(chosen)) or _missing("Node", chosen, "repl.node")


def _missing(title: str, program: str, setting: str) -> str:
    raise ToolError(
        f"There is no {title} to run code: {program} was not found. Install it, or name it in the setting {setting}.",
        code="unsupported",
        remedy="",
    )
