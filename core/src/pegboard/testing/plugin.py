"""A pytest plugin, active wherever pegboard-core is installed: fixtures `board`, `ctx` and `call_tool`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pegboard import Board, Context, Result

CallTool = Callable[..., "Result"]


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board with every installed plugin, standing in a temporary folder, untouched by the user's own settings."""
    from pegboard import Board
    from pegboard.settings import load

    home = tmp_path.parent / f"{tmp_path.name}-home"
    env = {"HOME": str(home)}
    settings = load(tmp_path, env, managed=str(home / "managed"))
    return Board.load(settings=settings, env=env)


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
