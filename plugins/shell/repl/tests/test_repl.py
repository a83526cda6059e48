"""REPL in a session: values, variables, pictures, tables, timeouts and ends, with real interpreters."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import anyio
import pytest

from pegboard import Call, Image
from pegboard_session import ReplayProvider, Session

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # What differs between event loops is the process service, which has tests on both.


class Host:
    """A session whose board is called directly."""

    def __init__(self, session):
        self.session = session

    async def run(self, code, language="python", **more):
        call = Call("1", "REPL", {"language": language, "code": code, **more})
        with anyio.fail_after(120):
            return await self.session.board.dispatch(call, self.session.ctx)

    @property
    def pid(self):
        return self.session.ctx.service("repl").pid("python")


@pytest.fixture
async def host(board, approve):
    async with Session(board, ReplayProvider([])) as session:
        yield Host(session)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def gone(*pids: int) -> None:
    with anyio.fail_after(30):
        while any(alive(pid) for pid in pids):
            await anyio.sleep(0.02)


PICTURE = """
import struct, zlib
class Picture:
    def _repr_png_(self):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"\\0\\x80" * 1
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
"""


async def test_the_last_value_comes_back_and_variables_are_kept(host):
    assert (await host.run("x = 20\nx + 1")).text == "21"
    assert (await host.run("x * 2")).text == "40"
    assert (await host.run("y = x")).text == "(no output)"


async def test_what_is_printed_comes_before_the_value_in_the_order_of_writing(host):
    code = "import os, sys\nprint('one')\nprint('two', file=sys.stderr)\nos.system('echo three')\n'four'"
    assert (await host.run(code)).text == "one\ntwo\nthree\n'four'"


async def test_an_exception_shows_its_lines_and_loses_nothing(host):
    result = await host.run("kept = 1\nprint('before')\ndef f():\n    return 1 / 0\nf()")
    assert not result.is_error
    assert result.text.startswith('before\nTraceback (most recent call last):\n  File "<repl 1>", line 5, in <module>')
    assert "return 1 / 0" in result.text
    assert result.value.error.endswith("ZeroDivisionError: division by zero")
    assert (await host.run("kept")).text == "1"


async def test_await_works_at_the_top_level(host):
    assert (
        await host.run("import asyncio\nz = await asyncio.sleep(0, 'late')\nawait asyncio.sleep(0, z)")
    ).text == "'late'"


async def test_code_that_exits_is_told_and_goes_on(host):
    assert (await host.run("n = 5\nraise SystemExit(3)")).text == "SystemExit: 3"
    assert (await host.run("n")).text == "5"


async def test_pictures_come_back_as_images(host):
    result = await host.run(PICTURE + "display(Picture())\nprint('drawn')\nPicture()")
    text, first, second = result.content
    assert text.text == "drawn"
    assert isinstance(first, Image)
    assert (first.media_type, second.data) == ("image/png", first.data)


async def test_tables_come_back_as_markdown(host):
    table = "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td><td> x\\n y </td></tr></table><p>1 row</p>"
    code = f"class Frame:\n    def _repr_html_(self): return '{table}'\nFrame()"
    assert (await host.run(code)).text == "| a | b\\|c |\n| --- | --- |\n| 1 | x y |\n1 row"
    markdown = "class M:\n    def _repr_markdown_(self): return '| k |\\n| --- |'\nM()"
    assert (await host.run(markdown)).text == "| k |\n| --- |"


async def test_printing_cannot_be_taken_for_an_answer(host):
    forged = '{"token": "x", "pieces": [], "error": ""}'
    result = await host.run(f"print('{forged}')\nimport os\nos.write(1, b'\\0abc\\0\\n')\n1")
    assert result.text == f"{forged}\n\\x00abc\\x00\n1"


async def test_who_writes_to_the_channel_is_ended(host):
    result = await host.run(
        'import os\nos.write(3, b\'{"token": "x", "pieces": [], "error": ""}\\n\')\nimport time; time.sleep(60)'
    )
    assert (result.is_error, result.code) == (True, "failed")
    assert result.text.startswith("The code wrote to the channel between Python and Pegboard, so it was ended.")
    assert (await host.run("1")).text == "1"


async def test_endless_output_is_shown_at_both_ends_and_the_rest_is_dropped(host):
    size = 1_000_000_000 if SLOW else 60_000_000
    flood = f"for _ in range({size} // 1_000_000): sys.stdout.write('x' * 1_000_000)"
    code = f"import sys\nkept = 'here'\nprint('first')\n{flood}\nprint('\\nlast')"
    result = await host.run(code, timeout=600_000)
    assert result.text.startswith("first\nxxx")
    assert result.text.endswith("xxx\nlast")
    assert f"of {size + 12:,} bytes omitted" in result.text
    assert len(result.text) < 32_000
    assert result.value.output_bytes == size + 12
    assert (await host.run("kept")).text == "'here'"


async def test_a_huge_value_is_cut(host):
    result = await host.run("'y' * 5_000_000")
    assert len(result.text) < 12_000
    assert "characters omitted" in result.text


async def test_code_that_takes_too_long_is_interrupted_and_variables_stay(host):
    result = await host.run("import time\nm = 1\nprint('begun')\ntime.sleep(60)", timeout=500)
    assert result.value.timed_out
    assert result.text.startswith("begun\nTraceback")
    assert result.text.endswith("It timed out after 0.5 s and was interrupted. Its variables are kept.")
    assert (await host.run("m")).text == "1"


async def test_code_that_ignores_the_interrupt_is_killed_and_replaced(host):
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('stubborn')"
    result = await host.run(f"{code}\nwhile True: time.sleep(0.01)", timeout=300)
    assert (result.is_error, result.code) == (True, "timeout")
    assert result.text == (
        "The code timed out after 0.3 s, did not stop when interrupted, and was killed. "
        "Its variables are lost; the next call starts a new process.\nstubborn"
    )
    assert (await host.run("'time' in globals()")).text == "False"


async def test_a_fork_neither_answers_nor_outlives_the_session(board, approve):
    async with Session(board, ReplayProvider([])) as session:
        host = Host(session)
        result = await host.run("import os, time\npid = os.fork()\nif not pid:\n    time.sleep(600)\npid")
        child, parent = int(result.text), host.pid
        quick = await host.run("other = os.fork()\n'parent' if other else 'child'")
        assert quick.text == "'parent'"
        assert (await host.run("os.waitpid(other, 0)[1]")).text == "0"
        assert alive(child)
    await gone(child, parent)


async def test_an_interpreter_that_is_killed_is_replaced(host):
    await host.run("v = 1")
    os.kill(host.pid, signal.SIGKILL)
    result = await host.run("'v' in globals()")
    assert result.value.result == "False"
    assert result.text.endswith(
        "Python was ended by SIGKILL. A new Python was started: variables and imports are gone."
    )


async def test_code_that_ends_the_process_says_how(host):
    result = await host.run("import os\nprint('bye', flush=True)\nos._exit(7)")
    assert result.text == (
        "Python ended with exit code 7. Its variables are lost; the next call starts a new process.\nbye"
    )
    assert (await host.run("2")).text == "2"


async def test_a_restart_forgets(host):
    await host.run("w = 1")
    before = host.pid
    result = await host.run("'w' in globals()", restart=True)
    assert result.text == "False\nA new Python was started: variables and imports are gone."
    assert host.pid != before
    await gone(before)
    assert (await host.run("", restart=True)).value.error == ""


async def test_cancelling_interrupts_and_keeps_variables(host):
    started = host.session.ctx.cwd / "started"
    async with anyio.create_task_group() as group:
        group.start_soon(host.run, f"q = 9\nopen({str(started)!r}, 'w').close()\nimport time; time.sleep(60)")
        with anyio.fail_after(60):
            while not started.exists():
                await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    assert (await host.run("q")).text == "9"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"language": "python", "code": "  "}, "code is empty. Give code to run, or restart: true"),
        ({"language": "ruby", "code": "1"}, "language"),
        ({"language": "python", "code": "1", "timeout": 0}, "timeout"),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_lost(host, given, said):
    await host.run("safe = 1")
    result = await host.session.board.dispatch(Call("1", "REPL", given), host.session.ctx)
    assert (result.is_error, result.code) == (True, "invalid_input")
    assert said in result.text
    assert (await host.run("safe")).text == "1"


async def test_a_syntax_error_and_a_long_timeout_are_told(host):
    result = await host.run("def (", timeout=700_000)
    assert "SyntaxError" in result.text
    assert result.text.endswith("timeout was 700000; the maximum of 600000 was used.")


@pytest.fixture
def node(host):
    if not shutil.which("node"):
        pytest.skip("Node is not installed")
    return lambda code, **more: host.run(code, language="node", **more)


async def test_node_keeps_variables_and_shows_values_errors_and_output(node):
    assert (await node("const a = [1, 2]; let b = 3; a")).text == "[ 1, 2 ]"
    assert (await node("console.log('hi'); console.error('there'); b + 1")).text == "hi\nthere\n4"
    assert (await node("const c = await Promise.resolve(5); c")).text == "5"
    assert (await node("c + 1")).text == "6"
    assert "boom" in (await node("throw new Error('boom')")).value.error
    assert "SyntaxError" in (await node("let let = 1")).value.error
    assert (
        await node("const { execSync } = require('child_process'); execSync('echo child').toString()")
    ).text == "'child\\n'"


async def test_node_is_interrupted_in_a_loop_and_in_a_wait(node):
    assert (await node("globalThis.k = 1; while (true);", timeout=500)).value.timed_out
    assert (await node("await new Promise(() => setTimeout(() => 0, 1e6))", timeout=500)).value.timed_out
    assert (await node("k")).text == "1"


async def test_node_goes_on_after_an_exit_and_after_a_value_that_cannot_be_shown(node):
    await node("globalThis.k = 1")
    assert "process.exit(3) does not end the REPL" in (await node("process.exit(3)", timeout=60_000)).value.error
    broken = "({ [require('util').inspect.custom]() { throw new Error('no form') } })"
    assert "no form" in (await node(broken, timeout=60_000)).value.error
    assert (await node("throw null")).value.error == "Uncaught null"
    assert (await node("k")).text == "1"


@pytest.mark.parametrize("form", ["_repr_html_", "_repr_markdown_"])
async def test_rich_forms_cannot_control_a_terminal(host, form):
    for text in ("<table><tr><td>\\x1b[2Jcell</td></tr></table>", "\\x1b[2J"):
        result = await host.run(f"class Rich:\n    def {form}(self): return '{text}'\nRich()")
        assert "\x1b" not in result.text
