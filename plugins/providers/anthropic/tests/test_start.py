"""What a board pays for a provider that nobody asks: next to nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pegboard import Board
from pegboard_anthropic import AnthropicProvider
from pegboard_session import find_providers

LOADS_A_BOARD = """
import sys
from pegboard import Board
from pegboard_session import find_providers
providers = find_providers(Board.load())
assert providers["anthropic"].name == "anthropic"
print(sorted({"anthropic", "httpx2", "httpcore2", "opentelemetry", "jiter", "ssl"} & set(sys.modules)))
"""


def test_nothing_of_the_sdk_is_imported_before_the_first_request(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADS_A_BOARD],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.returncode) == ("[]\n", 0), run.stderr


def test_a_board_offers_the_provider_by_name_and_always_the_same_one(board: Board) -> None:
    first, second = find_providers(board)["anthropic"], find_providers(board)["anthropic"]
    assert isinstance(first, AnthropicProvider)
    assert first is second
