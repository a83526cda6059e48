"""What to type after the demo: only commands that work in this environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_cli.help import foreign_commands

if TYPE_CHECKING:
    from pegboard import Board

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TUTORIAL = "docs/tutorial/first-tool.md"


def next_steps(board: Board) -> str:
    """The page."""
    steps = list(_steps(own_command(), board))
    width = max(len(typed) for typed, _ in steps)
    return "\nWhat to do next:\n" + "".join(f"  {typed:<{width}}  {what}\n" for typed, what in steps)


def own_command() -> str:
    """How this very Pegboard is called in the shell that called it."""
    program = Path(sys.argv[0])
    if uv := os.environ.get("UV"):  # `uv run` has put the environment on the path, for this command only.
        return f"{'uv' if shutil.which('uv') else _typed(Path(uv))} run pegboard"
    found = shutil.which("pegboard")
    if found and program.exists() and os.path.samefile(found, program):
        return "pegboard"
    if program.suffix == ".pyz":
        return _typed(program)
    script = Path(sys.executable).with_name("pegboard")
    return _typed(script) if script.is_file() else f"{sys.executable} -m pegboard_cli"


def _typed(program: Path) -> str:
    """A path as a shell takes it."""
    whole = program.absolute()
    return f"./{whole.relative_to(Path.cwd())}" if whole.is_relative_to(Path.cwd()) else str(whole)


def _steps(command: str, board: Board) -> Iterator[tuple[str, str]]:
    from pegboard_session import find_providers

    yield f"{command} tools", "list the tools; --all shows absent ones and why"
    yield f"{command} call Read file_path=...", "call a tool yourself"
    provider = find_providers(board).get(board.settings.get("provider", ""))
    if provider is not None:
        missing = getattr(provider, "missing", None)
        needed = missing() if missing else ""
        yield f'{command} run "your prompt"', f"the same with a real model{f' (set {needed} first)' if needed else ''}"
    if Path(TUTORIAL).is_file():
        yield TUTORIAL, "write a tool of your own"
    elif any(other["name"] == "new" for other in foreign_commands()):
        yield f'{command} new "Word Count"', "write a tool of your own"
    else:
        yield "pip install pegboard-authors", "write a tool of your own"
