"""Servers that misbehave: they die, hang, are empty while they load, or are no servers at all."""

import os
import signal
from typing import get_args

import anyio
import pytest

from pegboard_lsp import LspInput
from pegboard_lsp.hub import hub_of
from pegboard_lsp.items import Items
from pegboard_lsp.operations import Answered

from .world import ask, is_alive, pids, until

pytestmark = pytest.mark.anyio
FOUND = "1 definition of word (toy):\na.toy:1:1: a word"


@pytest.fixture(autouse=True)
def _toy(world):
    world.write("a.toy", "a word\n")


async def define(board):
    return await ask(board, "goToDefinition", "a.toy", symbol="word", line=1)


async def test_a_server_that_dies_in_the_middle_of_a_request_is_started_again(world, tmp_path):
    board = world.raw(dies_at="textDocument/definition", once=str(tmp_path / "died"))
    assert (await define(board)).text == FOUND
    assert len({row["pid"] for row in world.heard("initialize")}) == 2


async def test_a_server_that_always_dies_is_given_up_with_its_last_words(world):
    board = world.raw(dies_at="textDocument/definition", entry={"maxRestarts": 1})
    first = await define(board)
    assert (first.is_error, first.code) == (True, "failed")
    assert "The language server toy ended while it was asked." in first.text
    assert "ended with exit code 3" in first.text
    assert "out of cheese" in first.text
    second = await define(board)
    assert "has ended 2 times in a row and is not started again for 300 s." in second.text
    assert len(world.heard("initialize")) == 2


async def test_a_server_may_ask_not_to_be_started_again(world):
    board = world.raw(dies_at="textDocument/definition", entry={"restartOnCrash": False})
    await define(board)
    assert "has ended 1 time in a row" in (await define(board)).text
    assert len(world.heard("initialize")) == 1


async def test_a_server_that_was_killed_from_outside_is_started_again(world):
    board = world.raw()
    assert (await define(board)).text == FOUND
    [pid] = pids(board)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pids(board))
    assert (await define(board)).text == FOUND
    assert pids(board) != [pid]


async def test_a_server_that_never_answers_its_start_is_ended(world):
    board = world.raw(silent_at="initialize", lsp={"startTimeout": 1})
    result = await define(board)
    assert "The language server toy could not be started. It did not answer within 1 s of its start." in result.text
    [pid] = {row["pid"] for row in world.heard("initialize")}
    await until(lambda: not is_alive(pid))


async def test_a_request_that_is_never_answered_has_a_limit_and_the_second_ends_the_server(world):
    board = world.raw(silent_at="textDocument/definition", lsp={"requestTimeout": 1})
    first = await define(board)
    assert (first.code, "The language server toy did not answer within 1 s." in first.text) == ("timeout", True)
    [pid] = pids(board)
    await until(lambda: world.heard("$/cancelRequest"))
    assert "It is started anew by the next call." in (await define(board)).text
    await until(lambda: not is_alive(pid))
    assert (await ask(board, "findReferences", "a.toy", symbol="word", line=1)).text.startswith("1 reference to word")


async def test_a_cancelled_call_cancels_the_request(world):
    board = world.raw(silent_at="textDocument/definition")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(define, board)
        await until(lambda: world.heard("textDocument/definition"))
        tasks.cancel_scope.cancel()
    await until(lambda: world.heard("$/cancelRequest"))
    [asked] = world.heard("textDocument/definition")
    assert world.heard("$/cancelRequest")[0]["params"] == {"id": asked["id"]}


async def test_a_server_that_tells_of_its_loading_is_waited_for(world):
    board = world.raw(loading=1.0)
    assert (await define(board)).text == FOUND


async def test_a_server_that_is_empty_while_it_loads_without_a_word_is_asked_again(world):
    board = world.raw(empty=2)
    assert (await define(board)).text == FOUND
    assert len(world.heard("textDocument/definition")) == 3


async def test_an_answer_from_a_server_that_still_loads_says_so(world):
    board = world.raw(loading=600, lsp={"requestTimeout": 1})
    assert (await define(board)).text == (
        "toy found no definitions of word.\n(toy is still loading the project, so the answer may be incomplete.)"
    )


async def test_a_program_that_is_no_server_is_named_as_such(world):
    result = await define(world.raw(garbage_at="initialize"))
    assert (
        "It does not speak the Language Server Protocol: a message has no length, but begins with b'Hello"
        in result.text
    )


async def test_a_request_that_a_change_overtook_is_repeated(world):
    board = world.raw(refuses={"textDocument/definition": [-32801, 2]})
    assert (await define(board)).text == FOUND


async def test_a_refused_request_says_why(world):
    result = await define(world.raw(refuses={"textDocument/definition": [-32803, 9]}))
    assert result.text.startswith("The language server toy refused the request: not now")


async def test_an_operation_that_a_server_does_not_have_is_refused_without_asking_it(world):
    result = await ask(world.raw(), "incomingCalls", "a.toy", symbol="word", line=1)
    assert (result.code, result.text) == (
        "unsupported",
        "The language server toy does not support incomingCalls.",
    )


async def test_an_idle_server_is_stopped_and_started_by_the_next_call(world):
    board = world.raw(lsp={"idleSeconds": 1})
    await define(board)
    [pid] = pids(board)
    await until(lambda: not is_alive(pid))
    assert world.heard("shutdown", "exit")[-1]["method"] == "exit"
    assert "params" not in world.heard("shutdown")[0]
    assert (await define(board)).text == FOUND
    [server] = hub_of(board.settings).servers.values()
    assert server.starts == 2


WRONG = [
    None,
    7,
    "text",
    {"uri": 3},
    [{"uri": "file:///x", "range": {"start": {"line": -1, "character": "x"}}}, None, 5],
    [{"targetUri": "https://example.com/a"}, {"uri": "file://%00"}, {"uri": "file://[x"}],
    [{"from": {"uri": 1}, "fromRanges": 7}, {"to": []}],
    [{"name": ["x"], "children": {"a": 1}, "location": 5, "kind": -3, "severity": "high", "message": 5}],
    {"contents": {"kind": "markdown"}},
]


@pytest.mark.parametrize("operation", get_args(LspInput.model_fields["operation"].annotation))
def test_answers_of_a_wrong_shape_break_nothing(world, operation):
    items = Items(world.board().context(), lambda path: True)
    for answer in WRONG:
        if operation == "hover":
            assert items.hover(Answered(answer, str(world.project / "a.toy"))) == ""
        else:
            items.of(operation, Answered(answer, str(world.project / "a.toy")))


async def test_a_refusal_cannot_control_a_terminal(world):
    world.write("a.toy", "a word\n")
    board = world.raw(refuses={"textDocument/definition": [-1, 9, "\x1b[2J\nno\ud800"]})
    text = (await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")).text
    assert text.startswith("The language server toy refused the request: ")
    assert text.isprintable()


async def test_names_that_are_not_utf_8_become_json(world):
    world.write("a.toy", "a word\n")
    place = {"uri": f"{world.project.as_uri()}/b%FF.toy", "range": {"start": {"line": 0, "character": 0}}}
    board = world.raw(answers={"textDocument/definition": [place]})
    result = await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")
    assert "b\\\\xff.toy" in result.value.model_dump_json()


async def test_hover_needs_no_file_for_the_definition_where_nothing_is_withheld(world):
    world.write("a.toy", "a word\n")
    answers = {
        "textDocument/definition": [{"uri": "jdt://contents/a.class"}],
        "textDocument/hover": {"contents": "A word."},
    }
    given = {"line": 1, "symbol": "word"}
    assert (await ask(world.raw(answers=answers), "hover", "a.toy", **given)).text == "A word."


async def test_a_registration_of_a_wrong_shape_does_not_end_the_conversation(world):
    world.write("a.toy", "a word\n")
    board = world.raw(says={"id": "r", "method": "client/registerCapability", "params": {"registrations": 5}})
    assert not (await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")).is_error
    assert len({row["pid"] for row in world.heard()}) == 1


async def test_what_a_server_says_is_cut_and_cannot_control_a_terminal(world):
    board = world.raw(answers={"textDocument/hover": {"contents": "\x1b[2J" + "x" * 50_000}})
    text = (await ask(board, "hover", "a.toy", line=1, character=1)).text
    assert text.startswith("\ufffd[2Jxxx")
    assert len(text) == 10_001
