"""What a conversation was shown, and what Edit and Write may rely on, are two things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Allow, Board, Call, Context, Input, tool
from pegboard.settings import load
from pegboard_testing.answers import Answers
from pegboard_testing.scripts import Played, ScriptedModel
from pegboard_testing.warm import warm

WHOLE = "1\tone\n2\ttwo"
UNCHANGED = "has not changed since you last read"
UNREAD = "has not been read in this conversation"


class ErrandInput(Input):
    calls: list[tuple[str, dict[str, Any]]]
    """What to call, one after another."""


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Errand(args: ErrandInput, ctx: Context) -> str:
    """Call other tools, one after another."""
    results = [await ctx.call(name, given) for name, given in args.calls]
    return "\n---\n".join(result.text for result in results)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board with the file tools and one that calls them; every question is answered with yes."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    answers = Answers()
    answers.decision = Allow("Approved by the test.", layer="ask")
    env = {"HOME": str(warm(home))}
    settings = load(folder, env, managed=str(home / "managed"))
    return Board.load(settings=settings, env=env, plugins=[answers], tools=[Errand])


def turns(board: Board, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What a model reads that makes one call per turn."""
    model = ScriptedModel(board)
    for name, given in calls:
        model.calls(name, **given).then()
    played: Played = model.run()
    return played.texts


def errand(*calls: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return "Errand", {"calls": calls}


READ = ("Read", {"file_path": "a.txt"})
WRITE = ("Write", {"file_path": "a.txt", "content": "three\n"})


def test_a_conversation_is_told_once_that_it_has_seen_a_file(board: Board) -> None:
    first, second, third = turns(board, READ, READ, READ)
    assert (first, third) == (WHOLE, WHOLE)
    assert UNCHANGED in second


def test_what_a_tool_read_is_still_shown_to_the_model(board: Board) -> None:
    assert turns(board, errand(READ), READ) == [WHOLE, WHOLE]


def test_what_the_model_read_is_still_shown_to_a_tool(board: Board) -> None:
    assert turns(board, READ, errand(READ, READ)) == [WHOLE, f"{WHOLE}\n---\n{WHOLE}"]


def test_a_tool_does_not_use_up_what_the_model_was_shown(board: Board) -> None:
    assert UNCHANGED in turns(board, READ, errand(READ), READ)[2]


@pytest.mark.parametrize("sessions", [("", ""), ("one", "two"), ("one", "one")])
def test_without_a_session_every_caller_is_shown_the_whole_file(board: Board, sessions: tuple[str, str]) -> None:
    for session in sessions:
        ctx = board.context(session_id=session)
        assert anyio.run(board.dispatch, Call("1", *READ), ctx).text == WHOLE
        (result,) = anyio.run(board.run, [Call("1", *READ)], ctx)
        assert result.text == WHOLE
    assert anyio.run(board.call, *READ).text == WHOLE


def test_the_calls_of_a_tool_rely_on_what_they_read(board: Board) -> None:
    (text,) = turns(board, errand(READ, WRITE))
    assert UNREAD not in text
    assert Path(board.settings.cwd, "a.txt").read_text() == "three\n"


def test_the_calls_of_a_tool_rely_on_what_its_caller_knows(board: Board) -> None:
    turns(board, READ, errand(WRITE))
    assert Path(board.settings.cwd, "a.txt").read_text() == "three\n"


def test_what_a_tool_read_is_forgotten_when_it_ends(board: Board) -> None:
    _, own, other = turns(board, errand(READ), WRITE, errand(WRITE))
    assert UNREAD in own
    assert UNREAD in other
    assert Path(board.settings.cwd, "a.txt").read_text() == "one\ntwo\n"


def test_what_a_tool_wrote_must_be_read_again_by_the_model(board: Board) -> None:
    again = ("Write", {"file_path": "a.txt", "content": "four\n"})
    assert "has changed since it was read" in turns(board, READ, errand(WRITE), again)[2]
    assert Path(board.settings.cwd, "a.txt").read_text() == "three\n"


def test_a_tool_inside_a_tool_starts_from_what_the_outer_one_read(board: Board) -> None:
    turns(board, errand(READ, errand(WRITE)))
    assert Path(board.settings.cwd, "a.txt").read_text() == "three\n"
    (text,) = turns(board, errand(errand(READ), ("Write", {"file_path": "a.txt", "content": "four\n"})))
    assert UNREAD in text
