"""Standard streams that are full, closed or spelled in another way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pegboard import Board, Call, Context, Input, Settings, tool
from pegboard_cli.stdout_capture import StdoutCapture
from pegboard_testing.warm import warm


@pytest.fixture
def pegboard(tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"content": [{"type": "text", "text": "The answer is 42."}]}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}

    def run(*words: str, env: dict[str, str] | None = None, **options: object) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=tmp_path,
            env={**kept, "HOME": str(warm(tmp_path)), **(env or {})},
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            check=False,
            **options,
        )

    return run


SAYS = ("run", "Go", "--replay", "script.jsonl", "--output-format")
LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("words", [*((*SAYS, kind) for kind in ("text", "json", "stream-json")), ("tools",)])
def test_an_answer_that_cannot_be_written_is_a_failure(pegboard, words):
    with open("/dev/full", "wb") as full:
        done = pegboard(*words, stdout=full)
    assert (done.returncode, done.stderr) == (
        1,
        b"pegboard: The output cannot be written: No space left on device.\n",
    )


@pytest.mark.parametrize(("words", "code"), [((*SAYS, "text"), 141), ((*SAYS, "stream-json"), 141), (("tools",), 0)])
def test_a_reader_that_has_enough_stops_a_run_and_is_no_failure_of_a_listing(pegboard, words, code):
    reader, writer = os.pipe()
    os.close(reader)
    done = pegboard(*words, stdout=writer)
    os.close(writer)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def test_options_may_stand_between_the_name_and_the_input(pegboard, tmp_path):
    done = pegboard("call", "Write", "--yes", "file_path=a.txt", "--json", "content=hello")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "Write"
    assert (tmp_path / "a.txt").read_text() == "hello"


def test_every_file_name_can_be_used_in_a_locale_that_cannot_spell_it(pegboard, tmp_path):
    (tmp_path / "\u00fc.txt").write_text("gr\u00fc\u00dfe\n")
    done = pegboard("call", "Read", "file_path=\u00fc.txt", env=LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "gr\u00fc\u00dfe" in done.stdout.decode()
    made = pegboard("call", "Write", "--yes", '{"file_path": "\\u00fc2.txt", "content": "\\u00fc"}', env=LOCALE)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "\u00fc2.txt").read_bytes() == "\u00fc".encode()


class NothingInput(Input):
    pass


async def test_what_a_tool_prints_is_caught_and_noted(tmp_path, capsys):
    @tool(read_only=True, open_world=False)
    def Chatty(args: NothingInput, ctx: Context) -> str:
        """Print."""
        print("hello from", threading.current_thread() is not threading.main_thread())
        sys.stdout.writelines(["and", " again"])
        return "value"

    capture = StdoutCapture()
    made = Board(Settings(cwd=str(tmp_path)), [], tools=[Chatty], plugins=[capture], env={"HOME": str(tmp_path)})
    with capture:
        print("outside")
        result = await made.dispatch(Call("1", "Chatty"))
    assert result.notes == ("printed: hello from True\nand again",)
    assert result.text == "value"
    assert capsys.readouterr().out == "outside\n"
