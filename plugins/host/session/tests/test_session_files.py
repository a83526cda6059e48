"""What one conversation has seen of a file is no business of another."""

from pathlib import Path

import pegboard_files
from pegboard import Board
from pegboard.settings import Settings
from pegboard_files import FileState
from pegboard_session import ReplayProvider, Session


async def test_two_sessions_on_one_board_know_their_own_files(tmp_path):
    board = Board(Settings(cwd=str(tmp_path)), [], plugins=[pegboard_files], env={"HOME": str(tmp_path)})
    async with Session(board, ReplayProvider([])) as first, Session(board, ReplayProvider([])) as second:
        first.ctx.files.note(Path("a.txt"), FileState("digest", 1, 1))
        assert first.ctx.files.known(Path("a.txt"))
        assert second.ctx.files.known(Path("a.txt")) is None
