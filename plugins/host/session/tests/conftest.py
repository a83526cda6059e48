"""A board with two tools and somebody who watches."""

import pytest

import pegboard_files
import pegboard_processes
from pegboard import (
    Board,
)
from pegboard.settings import Layer, Settings

from .scripts import Anything, Echo, Mutate, Watching


@pytest.fixture
def watching():
    return Watching()


@pytest.fixture
def board(watching, tmp_path):
    settings = Settings([Layer("user", "test", {"maxTurns": 5})], cwd=str(tmp_path))
    return Board(
        settings,
        [],
        plugins=[watching, pegboard_files, pegboard_processes],
        tools=[Echo, Mutate, Anything],
        env={"HOME": str(tmp_path)},
    )
