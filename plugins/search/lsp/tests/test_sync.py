"""Servers are in step with the files, whoever changes them."""

import subprocess

import anyio
import pytest

from .world import ask

pytestmark = pytest.mark.anyio
ALLOWED = {"permissions": {"allow": ["Edit", "Write", "Read"]}}
FILES = 50


async def edit(board, name, old, new):
    result = await board.call("Edit", {"file_path": name, "old_string": old, "new_string": new})
    assert not result.is_error, result.text


async def test_fifty_files_that_are_edited_in_a_burst_have_the_right_diagnostics(world):
    board = world.board(**ALLOWED)
    for number in range(FILES):
        world.write(f"m{number}.py", f"def f{number}(x: int) -> int:\n    return x\n")
        world.write(f"use{number}.py", f"from m{number} import f{number}\n\nf{number}(1)\n")
    answers: dict[str, str] = {}

    async def check(name):
        answers[name] = (await ask(board, "diagnostics", name)).text

    async def check_all():
        async with anyio.create_task_group() as tasks:
            for number in range(FILES):
                tasks.start_soon(check, f"use{number}.py")

    await check_all()
    assert set(answers.values()) == {f"ty found no problems in use{number}.py." for number in range(FILES)}
    ctx = board.context()
    for number in range(FILES):
        await board.call("Read", {"file_path": f"m{number}.py"}, ctx)
    # Only the files that others import are edited, and only each second one so that it breaks them.
    for number in range(FILES):
        await edit(board, f"m{number}.py", "x: int", "x: str" if number % 2 else "x: object")
    await check_all()
    for number in range(FILES):
        wrong = "Expected `str`, found `Literal[1]`" in answers[f"use{number}.py"]
        assert wrong == bool(number % 2), answers[f"use{number}.py"]


async def test_changes_by_other_programs_are_seen_too(world):
    world.write("a.py", "def f() -> int:\n    return 1\n")
    world.write("b.py", "from a import f\n\nx: int = f()\n")
    board = world.board()
    assert (await ask(board, "diagnostics", "b.py")).text == "ty found no problems in b.py."
    subprocess.run(["sed", "-i", "s/int/str/; s/1/''/", "a.py"], cwd=world.project, check=True)
    assert "`str` is not assignable to `int`" in (await ask(board, "diagnostics", "b.py")).text
    (world.project / "a.py").unlink()
    assert "Cannot resolve imported module `a`" in (await ask(board, "diagnostics", "b.py")).text
    world.write("a.py", "def f() -> int:\n    return 1\n")
    assert (await ask(board, "diagnostics", "b.py")).text == "ty found no problems in b.py."


@pytest.mark.parametrize("plain", [False, True], ids=["with versions", "without versions"])
async def test_diagnostics_that_are_only_pushed_are_waited_for(world, plain):
    world.write("a.toy", "good\n")
    board = world.raw(plain=plain)
    assert (await ask(board, "diagnostics", "a.toy")).text == "toy found no problems in a.toy."
    world.write("a.toy", "good\nbad line\n")
    assert (
        await ask(board, "diagnostics", "a.toy")
    ).text == "1 problem in a.toy (toy):\na.toy:2:1: error: bad: bad line"
    world.write("other.toy", "good\n")
    assert "bad: bad line" in (await ask(board, "diagnostics", "a.toy")).text


async def test_a_server_that_says_nothing_about_a_file_is_not_taken_for_praise(world):
    world.write("a.toy", "bad\n")
    board = world.raw(silent_at="textDocument/didOpen", lsp={"requestTimeout": 1})
    said = "toy reported nothing about a.toy in time: it may have problems or none."
    assert (await ask(board, "diagnostics", "a.toy")).text == said


async def test_new_problems_can_be_added_to_an_edit(world):
    world.write("a.py", "x: int = 1\ny: int = ''\n")
    board = world.board(lsp={"diagnosticsAfterEdit": True}, **ALLOWED)
    await ask(board, "diagnostics", "a.py")
    ctx = board.context()
    await board.call("Read", {"file_path": "a.py"}, ctx)
    result = await board.call("Edit", {"file_path": "a.py", "old_string": "= 1", "new_string": "= 'one'"}, ctx)
    said = result.text
    assert "ty reports 1 new problem after this edit:" in said
    assert "a.py:1:10: error:" in said
    assert "a.py:2:" not in said
    off = world.board(**ALLOWED)
    await off.call("Read", {"file_path": "a.py"}, off.context())
    quiet = await off.call("Edit", {"file_path": "a.py", "old_string": "'one'", "new_string": "'two'"})
    assert "new problem" not in quiet.text


async def test_an_edit_succeeds_where_no_server_can_say_anything(world):
    world.write("a.toy", "one\n")
    board = world.raw(dies_at="initialize", lsp={"diagnosticsAfterEdit": True})
    ctx = board.context(mode="acceptEdits")
    await board.call("Read", {"file_path": "a.toy"}, ctx)
    result = await board.call("Edit", {"file_path": "a.toy", "old_string": "one", "new_string": "two"}, ctx)
    assert not result.is_error, result.text
