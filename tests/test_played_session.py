"""The session in the docs is played again: every tool of the first half of the catalogue, real but for the model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pegboard.hosting import OWNERS

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))  # The script is run by itself too.
import played_session

FIRST_HALF = ("pegboard-dialog", "pegboard-todo", "pegboard-notebook", "pegboard-worktree", "pegboard-notes")


@pytest.mark.timeout(280)
def test_the_page_is_what_the_session_does(tmp_path: Path) -> None:
    made = played_session.page(tmp_path)
    assert made == played_session.PAGE.read_text(), "Run python docs/played_session.py."


def test_the_session_is_long_enough_and_uses_every_tool() -> None:
    turns = [*played_session.BEFORE_THE_KILL, *played_session.AFTER_THE_KILL]
    used = {part["name"] for turn in turns for part in turn if "name" in part}
    wanted = {name for name, (dist, _) in OWNERS.items() if dist in (*FIRST_HALF, "pegboard-complete")}
    assert len(turns) >= 40
    assert wanted | {"MultiEdit"} <= used
