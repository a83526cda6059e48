"""What would be decided about a command, by the function that answers `pegboard why --batch`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pegboard import Allow, Board, Call, Context, ToolError
from pegboard.settings import load
from pegboard_bash.bash import Bash, BashInput
from pegboard_bash.bash_call import BashCall
from pegboard_bash.understanding import FAILED
from pegboard_cli.explanation import explain


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a command runs without asking, with which variables, and how much of the CPU it took to say so."""

    approved: bool
    seconds: float
    env: dict[str, str]
    failure: str = ""
    """What went wrong while deciding: no text may lead to that."""


class Judge:
    """Decides about commands in each world and mode, with one board."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._env = {"HOME": str(base / "home"), "PATH": os.environ.get("PATH", "")}
        self._contexts: dict[tuple[str, str], tuple[Board, Context]] = {}

    def _at(self, world: str, mode: str) -> tuple[Board, Context]:
        known = self._contexts.get((world, mode))
        if known is None:
            repo = self._base / world / "repo"
            settings = load(repo, self._env, trusted=True, managed=str(self._base / "nowhere"))
            board = Board.load(settings=settings, env=self._env)
            known = self._contexts[world, mode] = (board, board.context(cwd=repo, mode=mode))
        return known

    async def decide(self, command: str, world: str, mode: str = "default") -> Verdict:
        """Ask about one command."""
        board, ctx = self._at(world, mode)
        began = time.process_time()
        try:
            found = await explain(Call("why", "Bash", {"command": command}), ctx, board)
        except ToolError:  # Refused before anybody is asked.
            return Verdict(False, time.process_time() - began, {})
        except Exception as error:
            return Verdict(False, time.process_time() - began, {}, f"{type(error).__name__}: {error}")
        seconds = time.process_time() - began
        if found.facts.reason == FAILED:
            return Verdict(False, seconds, {}, FAILED)
        if not isinstance(found.decision, Allow):
            return Verdict(False, seconds, {})
        tool = board.find("Bash").tool
        assert isinstance(tool, Bash)
        assert tool._latest is not None
        spec = BashCall(BashInput(command=command), ctx, tool._latest[2], tool)._specification(None)
        return Verdict(True, seconds, dict(spec.env))
