"""Which lines call a slash command."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pegboard import Board
from pegboard_session import (
    ReplayProvider,
    Session,
    SlashCommand,
    SlashCommandError,
    answer_slash_command,
    slash_commands,
    split_slash_command,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/help", ("help", "")),
        ("/compact keep the plan ", ("compact", "keep the plan")),
        ("/review\nthese lines\nand those", ("review", "these lines\nand those")),
        ("/plugin:name x", ("plugin:name", "x")),
        ("/etc/hosts is a file", None),
        ("/", None),
        ("/ ", None),
        ("a /help", None),
        ("", None),
    ],
)
def test_a_line_with_a_name_after_the_slash_calls_a_command(line: str, expected: tuple[str, str] | None) -> None:
    assert split_slash_command(line) == expected


LISTS = """
import sys, anyio
from pegboard import Board
from pegboard_session import ReplayProvider, Session, find_slash_commands

async def main():
    board = Board.load(settings={"disable": sys.argv[1:]})
    async with Session(board, ReplayProvider([]), model="m") as session:
        print(*find_slash_commands(session))
    print(*sorted({name.partition(".")[0] for name in sys.modules if name.startswith("pegboard_")}))

anyio.run(main)
"""


@pytest.mark.parametrize("family", ["skills", "mcp", "host"])
def test_a_family_that_is_switched_off_is_not_imported_for_its_commands(family: str, tmp_path: Path) -> None:
    def listed(*off: str) -> tuple[set[str], set[str]]:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        command = [sys.executable, "-c", LISTS, *off]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
        names, modules = done.stdout.splitlines()
        return set(names.split()), set(modules.split())

    module = {"skills": "pegboard_skill", "mcp": "pegboard_mcp", "host": "pegboard_undo"}[family]
    assert module in listed()[1]
    names, modules = listed(family)
    assert module not in modules
    assert ("undo" in names) == (family != "host")


async def test_a_command_that_breaks_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(session: Session, arguments: str) -> str:
        return str(int(arguments))

    command = SlashCommand("count", "count", breaks)
    point = EntryPoint("count", "count:commands", "pegboard.slash_commands")
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda session: [command])
    monkeypatch.setattr(slash_commands, "entry_points", lambda group: [point])
    async with Session(Board.load(), ReplayProvider([]), model="m") as session:
        assert await answer_slash_command(session, "count", "3") == "3"
        with pytest.raises(SlashCommandError, match="The command /count failed: ValueError: invalid literal"):
            await answer_slash_command(session, "count", "x")
