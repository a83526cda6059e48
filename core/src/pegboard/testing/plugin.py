"""A pytest plugin, active wherever pegboard-core is installed.

Fixtures: `board`, `ctx`, `call_tool`, and `approve` and `deny` for what a person would answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pegboard import Board, Context, Result
    from pegboard.testing.answers import Answers

CallTool = Callable[..., "Result"]


@pytest.fixture
def answers() -> Answers:
    """What a person would answer when asked; nobody is there unless a test says otherwise."""
    from pegboard.testing.answers import Answers

    return Answers()


@pytest.fixture
def approve(answers: Answers) -> None:
    """Whatever asks is approved."""
    from pegboard import Allow

    answers.decision = Allow("Approved by the test.", layer="ask")


@pytest.fixture
def deny(answers: Answers) -> None:
    """Whatever asks is denied."""
    from pegboard import Deny

    answers.decision = Deny("Denied by the test.", layer="ask")


@pytest.fixture
def board(tmp_path: Path, answers: Answers) -> Board:
    """A board with every installed plugin, standing in a temporary folder, untouched by the user's own settings."""
    from pegboard import Board
    from pegboard.settings import load

    home = tmp_path.parent / f"{tmp_path.name}-home"
    env = {"HOME": str(home), "PATH": os.environ.get("PATH", "")}
    settings = load(tmp_path, env, managed=str(home / "managed"))
    return Board.load(settings=settings, env=env, plugins=[answers])


@pytest.fixture
def ctx(board: Board) -> Context:
    """A context in the board's temporary folder."""
    return board.context()


@pytest.fixture
def call_tool(board: Board, ctx: Context) -> CallTool:
    """Call a tool as a model would: JSON in, a result out, through validation, permission and serialization."""
    import anyio

    from pegboard import Call

    def call(name: str, arguments: dict[str, Any] | str | None = None, /, **more: Any) -> Result:
        given = arguments if isinstance(arguments, str) else {**(arguments or {}), **more}
        return anyio.run(board.dispatch, Call("test", name, given), ctx)

    return call
