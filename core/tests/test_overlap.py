"""Calls that name all they touch overlap when they touch different files, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Allow, Ask, Before, Board, Call, Change, Context, Facts, Input, hookimpl, tool
from pegboard.execution.turn import Turn, run_calls

from .scheduling import Permissive, a_board


class Touching(Input):
    file_path: Path
    """The file."""


class Meeting:
    """Calls that wait for each other for a moment: whether so many of them were there at once."""

    def __init__(self, size: int) -> None:
        self.size, self.here, self.all_here = size, 0, anyio.Event()

    async def act(self, ctx: Context) -> str:
        self.here += 1
        if self.here == self.size:
            self.all_here.set()
        with anyio.move_on_after(0.2):
            await self.all_here.wait()
        self.here -= 1
        return "met" if self.all_here.is_set() else "alone"


def changing(meeting: Meeting, **options: Any) -> Any:
    """A tool that changes the file of its input; its facts are those that every tool has."""

    async def change(args: Touching, ctx: Context) -> str:
        """Change a file."""
        return await meeting.act(ctx)

    return tool(**({"name": "Change", "read_only": False, "open_world": False} | options))(change)


async def answers(board: Board, folder: Path, *names: str) -> list[str]:
    calls = [Call(str(index), "Change", {"file_path": str(folder / name)}) for index, name in enumerate(names)]
    results, _ = await run_calls(board, calls, Context(folder))
    return [result.text for result in results]


async def test_ten_changes_of_ten_files_run_at_once(tmp_path: Path) -> None:
    board = a_board(changing(Meeting(10)), plugins=(Permissive(),))
    assert await answers(board, tmp_path, *(f"{number}.txt" for number in range(10))) == ["met"] * 10


def same_file(folder: Path) -> tuple[str, str]:
    return "a.txt", "a.txt"


def folder_and_file(folder: Path) -> tuple[str, str]:
    return "inner", "inner/a.txt"


def through_a_link(folder: Path) -> tuple[str, str]:
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    return "real/a.txt", "link/a.txt"


def the_link_itself(folder: Path) -> tuple[str, str]:
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    return "link/a.txt", "real"


def hard_links(folder: Path) -> tuple[str, str]:
    (folder / "a.txt").touch()
    (folder / "b.txt").hardlink_to(folder / "a.txt")
    return "a.txt", "b.txt"


@pytest.mark.parametrize("pair", [same_file, folder_and_file, through_a_link, the_link_itself, hard_links])
async def test_calls_that_may_touch_the_same_thing_do_not_overlap(
    pair: Callable[[Path], tuple[str, str]], tmp_path: Path
) -> None:
    board = a_board(changing(Meeting(2)), plugins=(Permissive(),))
    assert await answers(board, tmp_path, *pair(tmp_path)) == ["alone", "alone"]


@pytest.mark.parametrize(
    "options",
    [
        {"open_world": True},
        {"cascades": True},
        {"facts": lambda args, ctx: Facts(open_world=False)},
        {"facts": lambda args, ctx: Facts(open_world=False, hosts=("example.com",), writes=(args.file_path,))},
    ],
    ids=["open world", "a failure cascades", "names nothing", "reaches a host"],
)
async def test_a_call_that_does_not_name_all_it_touches_is_alone(options: Any, tmp_path: Path) -> None:
    board = a_board(changing(Meeting(2), **options), plugins=(Permissive(),))
    assert await answers(board, tmp_path, "a.txt", "b.txt") == ["alone", "alone"]


async def test_a_hook_may_keep_other_calls_away(tmp_path: Path) -> None:
    class Formatter(Permissive):
        @hookimpl
        def before_call(self) -> Before:
            return Before(alone=True)

    board = a_board(changing(Meeting(2)), plugins=(Formatter(),))
    assert await answers(board, tmp_path, "a.txt", "b.txt") == ["alone", "alone"]


async def test_what_a_person_answers_counts_for_the_next_call(tmp_path: Path) -> None:
    """Both calls are ready to ask; the answer to the first makes the second question needless."""
    asked: list[str] = []

    class Person:
        @hookimpl
        def check_permission(self, ctx: Context) -> Allow | Ask:
            return Allow() if ctx.loaded_tools else Ask("May it?")

        @hookimpl
        async def ask_user(self, call: Call) -> Allow:
            asked.append(call.id)
            await anyio.wait_all_tasks_blocked()
            turn.change(Change(loaded_tools=("Other",)))
            return Allow()

    board = a_board(changing(Meeting(2)), plugins=(Person(),))
    async with Turn(Context(tmp_path), board) as turn:
        for name in ("a.txt", "b.txt"):
            turn.add(Call(name, "Change", {"file_path": str(tmp_path / name)}))
        turn.end()
        texts = [result.text async for result in turn.results()]
    assert (texts, asked) == (["met", "met"], ["a.txt"])
