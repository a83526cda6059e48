"""Who may run code: asked by default, by rules that name a language, and held by the sandbox."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pegboard import Call
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Session


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def under(ctx, **values):
    layer = Layer("user", "user.json", {name.replace("__", "."): value for name, value in values.items()})
    return replace(ctx, settings=Settings([layer], cwd=str(ctx.cwd), root=str(ctx.cwd)))


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ({}, "permission_denied"),
        ({"permissions__allow": ["REPL(node)"]}, "permission_denied"),
        ({"permissions__allow": ["Bash", "Read", "Edit"]}, "permission_denied"),
        ({"permissions__allow": ["REPL(python)"]}, ""),
        ({"permissions__allow": ["REPL"], "permissions__deny": ["REPL(python)"]}, "permission_denied"),
    ],
)
async def test_code_runs_only_where_a_person_or_a_rule_allows_it(board, deny, rules, code):
    async with Session(board, ReplayProvider([])) as session:
        call = Call("1", "REPL", {"language": "python", "code": "1"})
        result = await board.dispatch(call, under(session.ctx, **rules))
        assert (result.code or "") == code


@pytest.mark.parametrize("code", ["1", "print('ls')", "import os"])
async def test_code_never_counts_as_reading_only(board, code):
    tool = board.find("REPL").tool
    facts = tool.facts(tool.input(language="python", code=code), board.context())
    assert (facts.read_only, facts.open_world, facts.concurrency_safe, facts.level) == (False, True, False, "mutating")


async def test_an_interpreter_runs_in_the_sandbox(board, approve, tmp_path):
    from pegboard_sandbox import bubblewrap

    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    (tmp_path / "project").mkdir()
    async with Session(board, ReplayProvider([])) as session:
        ctx = under(session.ctx, sandbox__enabled=True)

        async def run(code):
            with anyio.fail_after(120):
                call = Call("1", "REPL", {"language": "python", "code": code, "timeout": 60_000})
                return await board.dispatch(call, ctx)

        assert "OSError" in (await run("open('/etc/pegboard-repl-test', 'w')")).value.error
        assert (await run("open('inside.txt', 'w').write('yes')")).text == "3"
        assert (await run("import time\ntime.sleep(0)\n'kept'")).text == "'kept'"
    assert (ctx.cwd / "inside.txt").read_text() == "yes"


async def test_a_missing_interpreter_is_told_with_the_setting(board, approve):
    async with Session(board, ReplayProvider([])) as session:
        ctx = under(session.ctx, repl__python="no/such/python", repl__node="no-such-node")
        for language in ("python", "node"):
            result = await board.dispatch(Call("1", "REPL", {"language": language, "code": "1"}), ctx)
            assert result.code == "unsupported"
            assert f"name it in the setting repl.{language}" in result.text


async def test_without_a_session_it_says_so(board, approve):
    result = await board.dispatch(Call("1", "REPL", {"language": "python", "code": "1"}), board.context())
    assert result.text.startswith("REPL needs a session, which keeps the interpreter between calls. pegboard run has")
