"""The test kit: it passes what keeps its promises, and names each promise that is broken."""

from __future__ import annotations

import json
import re
import runpy
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Context, Tool
from pegboard_testing import assert_contract, broken_promises
from pegboard_testing.case import ToolUnderTest
from pegboard_testing.contract import PROMISES, check, promise_in_words
from pegboard_testing.strategies import invented

from . import wrong_tools
from .venvs import REPOSITORY, tool_source, write_wheel

pytest_plugins = ["pytester"]

WRONG = {
    "prompt": (wrong_tools.NoPrompt, "The prompt is 'Do it.'."),
    "schema": (wrong_tools.LyingSchema(), "inputs generated from the schema is accepted"),
    "stable-definition": (wrong_tools.Unstable(), "The definition differs between processes."),
    "unknown-key": (wrong_tools.IgnoresKeys, "An unknown key is silently ignored."),
    "wrong-type": (wrong_tools.TakesAnything, "is accepted, although the schema says"),
    "null": (wrong_tools.TakesNull, "The schema requires who, but null is accepted."),
    "secrets": (wrong_tools.ShowsSecrets, "repr(args) shows password."),
    "facts": (wrong_tools.CrashingFacts, "facts fails for"),
    "answers": (wrong_tools.Crashes, "failed because of a bug"),
    "output": (wrong_tools.WrongOutput(), "The tool returned dict where WrongOutput promises Pair."),
    "size": (wrong_tools.Endless, "returns 1000000 characters. That is more than 200000"),
    "input-kept": (wrong_tools.ChangesInput, "The call changes its own arguments"),
    "read-only": (wrong_tools.SecretlyWrites, "is declared read-only, but it changed left-behind.txt."),
    "declared-writes": (wrong_tools.WritesElsewhere, "changed other.txt, which is not among the writes"),
    "event-loop": (wrong_tools.BlocksTheLoop, "blocks the event loop for"),
    "cancellation": (wrong_tools.IgnoresCancellation, "after it was cancelled."),
    "timeout": (wrong_tools.CleansUpForever, "despite a limit of 0.3 s."),
    "concurrency": (wrong_tools.SharesState, "next to other calls"),
}


def test_there_is_a_wrong_tool_for_every_promise() -> None:
    assert list(WRONG) == list(PROMISES)


@pytest.mark.sample(2)
@pytest.mark.parametrize("promise", WRONG)
def test_a_broken_promise_is_named_with_what_was_seen(promise: str) -> None:
    tool, words = WRONG[promise]
    found = str(check(ToolUnderTest(tool), promise))
    assert words in found
    assert f"{tool.name} breaks the promise {promise!r}" in found


ALONE = {"prompt", "unknown-key", "null", "secrets", "size", "read-only", "declared-writes"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("promise", sorted(ALONE))
def test_one_fault_is_reported_as_one_broken_promise(promise: str) -> None:
    assert [broken.promise for broken in broken_promises(WRONG[promise][0])] == [promise]


VARIANTS = {
    "facts that act": (wrong_tools.ActsTooEarly, "facts", "facts changed seen.txt."),
    "facts for no input": (wrong_tools.SaysNothing, "facts", "facts refuses every input. The first error: I would"),
    "a state that stays": (
        wrong_tools.RemembersTheCrowd,
        "concurrency",
        "returns 'at most 2 at once' next to other calls",
    ),
    "files mixed up": (wrong_tools.MixesFiles, "concurrency", ".txt different from the same calls one after another."),
}


@pytest.mark.parametrize("case", VARIANTS)
def test_another_way_to_break_a_promise_is_named_too(case: str) -> None:
    tool, promise, words = VARIANTS[case]
    assert words in str(check(ToolUnderTest(tool), promise))


def test_a_tool_that_keeps_its_promises_passes() -> None:
    assert_contract(wrong_tools.Good)


def test_a_tool_may_use_all_that_a_session_has() -> None:
    assert_contract(wrong_tools.NeedsASession)


def test_an_example_may_be_a_function_that_makes_what_the_call_needs() -> None:
    folders: set[Path] = set()

    def example(ctx: Context) -> dict[str, Any]:
        folders.add(ctx.cwd)
        (ctx.cwd / "wanted.txt").write_text("x")
        return {"file_path": "wanted.txt"}

    assert_contract(wrong_tools.WantsOneFile, examples=[example])
    assert len(folders) > 3


def test_a_secret_of_the_environment_that_a_tool_keeps_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRONG_TOOL_API_KEY", wrong_tools.KEY)
    (broken,) = broken_promises(wrong_tools.HoldsSecret())
    assert "the value of WRONG_TOOL_API_KEY" in broken.reason
    assert wrong_tools.KEY not in str(broken)


def test_a_tool_that_reaches_outside_is_not_run_with_invented_input() -> None:
    broken = broken_promises(wrong_tools.OpenWorld)
    assert {one.promise for one in broken} >= {"answers", "read-only", "cancellation"}
    assert all("was not run: its facts say that it is open-world" in one.reason for one in broken)


def test_examples_let_a_tool_that_reaches_outside_be_run() -> None:
    assert_contract(wrong_tools.OpenWorld, examples=[{"who": "friend"}])


def test_an_example_that_the_input_refuses_is_a_broken_promise() -> None:
    found = {one.promise: one.reason for one in broken_promises(wrong_tools.OpenWorld, examples=[{"whom": "friend"}])}
    assert "{'whom': 'friend'} is refused" in found["schema"]


def test_assert_contract_fails_with_every_sentence() -> None:
    with pytest.raises(AssertionError, match=r"(?s)SecretlyWrites breaks the promise 'read-only' .*left-behind"):
        assert_contract(wrong_tools.SecretlyWrites)


def built_in_tools() -> list[Tool[Any, Any]]:
    board = Board.load(settings={"complete": {"required": True}})  # One tool is there in such runs only.
    return [board.find(entry.name).tool for entry in board.pool.entries if entry.partition == "built-in"]


@pytest.fixture
def of_its_plugin(tool: Tool[Any, Any]) -> Iterator[dict[str, Any]]:
    """What the conftest.py beside the tool's own tests says about it."""
    package = sys.modules[type(tool).__module__.partition(".")[0]]
    file = Path(str(package.__file__)).parents[2] / "tests/conftest.py"
    hooks = runpy.run_path(str(file)) if file.exists() else {}
    asked = {key: hooks.get(f"pytest_pegboard_{key}", lambda tool: None)(tool) for key in ("examples", "settings")}
    yield {"examples": asked["examples"] or (), "settings": asked["settings"]}
    hooks.get("pytest_unconfigure", lambda: None)()


@pytest.mark.sample(3)
@pytest.mark.parametrize("tool", built_in_tools(), ids=lambda tool: tool.name)
def test_every_built_in_tool_keeps_its_promises(tool: Tool[Any, Any], of_its_plugin: dict[str, Any]) -> None:
    assert_contract(tool, **of_its_plugin)


def test_the_page_about_testing_lists_every_promise_in_its_own_words() -> None:
    page = (REPOSITORY / "docs/how-to/test-a-tool.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page, re.M))
    assert {name: rows.get(name) for name in PROMISES} == {name: promise_in_words(name) for name in PROMISES}


def test_invented_inputs_are_many_different_and_the_same_every_time() -> None:
    first, second = invented(wrong_tools.Good, 30), invented(wrong_tools.Good, 30)
    assert first == second
    assert len(first) >= 15
    assert any("times" in given for given in first)
    assert any("times" not in given for given in first)


def test_pytest_collects_a_test_for_each_promise_of_each_tool(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess("--pegboard-contract=pegboard-write", "-q", "-p", "no:randomly")
    done.assert_outcomes(passed=len(PROMISES))


def test_pytest_takes_the_project_under_test_from_its_pyproject(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[project]\nname = "Pegboard_Write"\n')
    pytester.runpytest_subprocess("--pegboard-contract", "-q").assert_outcomes(passed=len(PROMISES))


def test_pytest_says_which_distribution_is_missing(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess("--pegboard-contract=acme-nothing")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(
        ["*acme-nothing is not installed or contains no plugin. Install it with pip install -e .*"]
    )


Install = Callable[[str], None]


@pytest.fixture
def install(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a plugin of one module for the pytest that the test starts."""

    def put(source: str) -> None:
        files, entries = {"acme_hello.py": source}, {"acme.hello": "acme_hello"}
        wheel = write_wheel(pytester.path / "wheels", "acme-hello", files, entries)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(pytester.path / "site")
        monkeypatch.setenv("PYTHONPATH", str(pytester.path / "site"))

    return put


@pytest.fixture
def hello(install: Install) -> str:
    """An installed plugin whose tool reaches outside, because its author did not say otherwise."""
    install(tool_source(options=""))
    return "--pegboard-contract=acme-hello"


def test_a_conftest_gives_examples_to_the_contract_suite(pytester: pytest.Pytester, hello: str) -> None:
    pytester.makeconftest("def pytest_pegboard_examples(tool):\n    return [{'who': 'Ada'}]\n")
    pytester.runpytest_subprocess(hello, "-q").assert_outcomes(passed=len(PROMISES))


def test_the_contract_suite_reports_broken_promises_as_json(pytester: pytest.Pytester, hello: str) -> None:
    done = pytester.runpytest_subprocess(hello, "--pegboard-contract-report=found.json")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["Hello breaks the promise 'timeout' (A call that times out is answered in time.) *"])
    rows = json.loads((pytester.path / "found.json").read_text())
    assert {"answers", "timeout"} <= {row["promise"] for row in rows}
    assert {row["tool"] for row in rows} == {"Hello"}


def test_a_scripted_model_calls_tools_in_a_real_session(scripted_model: Any, board: Board) -> None:
    folder = Path(board.settings.cwd)
    (folder / "a.txt").write_text("one\n")
    played = scripted_model.calls("Read", file_path="a.txt").calls("Read", file_path="b.txt").says("Read both.").run()
    assert played.outcome.text == "Read both."
    assert played.texts[0].startswith("1\tone")
    assert [result.get("is_error", False) for result in played.results] == [False, True]
    assert len(played.requests) == 2


def test_a_scripted_model_sees_results_before_its_next_turn(scripted_model: Any, approve: None, board: Board) -> None:
    script = scripted_model.calls("Write", file_path="new.txt", content="x\n").then().calls("Read", file_path="new.txt")
    played = script.run("Make a file.")
    assert len(played.requests) == 3
    assert played.texts[1].startswith("1\tx")


TAPED = """
    def test_reads(call_tool, ctx):
        result = call_tool("Read", file_path="a.txt")
        print("SAID", result.text.replace(str(ctx.cwd), "CWD"), result.code)

    def test_writes(call_tool, ctx, approve):
        result = call_tool("Write", file_path=str(ctx.cwd / "b.txt"), content="x")
        print("SAID", result.text.replace(str(ctx.cwd), "CWD"), (ctx.cwd / "b.txt").exists())
"""


def said(done: pytest.RunResult) -> list[str]:
    return sorted(re.findall(r"SAID (.*)", done.stdout.str()))


def test_a_recorded_run_is_replayed_without_running_the_tools(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_taped=textwrap.dedent(TAPED))
    recorded = pytester.runpytest_subprocess("-s", "--pegboard-record=tape.jsonl")
    replayed = pytester.runpytest_subprocess("-s", "--pegboard-replay=tape.jsonl")
    recorded.assert_outcomes(passed=2)
    replayed.assert_outcomes(passed=2)
    assert said(recorded)[0].endswith(" True")
    assert said(replayed) == [said(recorded)[0].replace(" True", " False"), *said(recorded)[1:]]


def test_recording_twice_gives_the_same_tape(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_taped=textwrap.dedent(TAPED))
    tapes = []
    for name in ("one.jsonl", "two.jsonl"):
        pytester.runpytest_subprocess(f"--pegboard-record={name}").assert_outcomes(passed=2)
        tapes.append((pytester.path / name).read_bytes())
    assert tapes[0] == tapes[1]
    assert str(pytester.path).encode() not in tapes[0]


DRAW = """
from pathlib import Path
from pydantic import BaseModel
from pegboard import Context, Image, Input, Text, Tool, hookimpl

class Nothing(Input):
    pass

class Drawing(BaseModel):
    data: bytes
    places: dict[int, Path]

class Draw(Tool[Nothing, Drawing]):
    read_only, open_world = True, False
    prompt = "Draw something small."

    async def call(self, args: Nothing, ctx: Context, /) -> Drawing:
        (ctx.cwd / "ran").touch()
        return Drawing(data=bytes([137, 255]), places={1: ctx.cwd / "a.png"})

class Show(Tool[Nothing, list[Text | Image]]):
    read_only, open_world = True, False
    prompt = "Show something small."

    def call(self, args: Nothing, ctx: Context, /) -> list[Text | Image]:
        (ctx.cwd / "ran").touch()
        return [Text("Here."), Image(bytes([137, 255]), "image/png")]

@hookimpl
def register_tools():
    return [Draw(), Show()]
"""
DRAWN = """
    import pytest

    @pytest.mark.parametrize("name", ["Draw", "Show"])
    def test_it(name, call_tool, ctx):
        result = call_tool(name)
        said = str(result.value).replace(str(ctx.cwd), "CWD")
        print("SAID", result.is_error, said, result.text.replace(str(ctx.cwd), "CWD"))
        print("RAN", (ctx.cwd / "ran").exists())
"""


def test_bytes_and_pictures_are_recorded_and_replayed(pytester: pytest.Pytester, install: Install) -> None:
    install(DRAW)
    pytester.makepyfile(test_drawn=textwrap.dedent(DRAWN))
    recorded = pytester.runpytest_subprocess("-s", "--pegboard-record=tape.jsonl")
    replayed = pytester.runpytest_subprocess("-s", "--pegboard-replay=tape.jsonl")
    assert [line.partition(" ")[0] for line in said(recorded)] == ["False", "False"]
    assert said(replayed) == said(recorded)
    assert re.findall("RAN (.*)", recorded.stdout.str() + replayed.stdout.str()) == ["True"] * 2 + ["False"] * 2


def test_a_class_instead_of_a_tool_is_refused_with_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"applies to a tool, not to <class .*HoldsSecret'>. Pass an instance: "):
        assert_contract(wrong_tools.HoldsSecret)  # type: ignore[arg-type]


def test_a_call_that_is_not_on_the_tape_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_taped=textwrap.dedent(TAPED))
    pytester.runpytest_subprocess("--pegboard-record=tape.jsonl").assert_outcomes(passed=2)
    pytester.makepyfile(test_taped=textwrap.dedent(TAPED).replace("a.txt", "other.txt"))
    done = pytester.runpytest_subprocess("--pegboard-replay=tape.jsonl")
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(
        ['*tape.jsonl has no call to Read with {"file_path": "other.txt"} left in the recording for this test.*']
    )


def test_a_tape_that_is_not_there_is_a_usage_error(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess("--pegboard-replay=none.jsonl")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*The tape none.jsonl cannot be read*"])
