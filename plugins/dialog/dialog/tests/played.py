"""What the tests of dialogs share: a model that plays a script, and boards with settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pegboard import Allow, Board
from pegboard.settings import load
from pegboard_session import ReplayProvider
from pegboard_testing.warm import known_plugins

YES = Allow("Answered by the test.", layer="ask")


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def called(name: str, **given: Any) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


def provider(*turns: dict[str, Any]) -> ReplayProvider:
    return ReplayProvider([*turns, said("Done.")])


def board_with(folder: Path, *plugins: object, **settings: Any) -> Board:
    home = folder.parent / f"{folder.name}-home"
    env = {"HOME": str(home), "PATH": ""}
    made = load(folder, env, settings, managed=str(folder / "managed"))
    with known_plugins(home):
        return Board.load(settings=made, env=env, plugins=plugins)
