"""A pytest plugin, active wherever pegboard-core is installed.

Fixtures: `board`, `ctx`, `call_tool`, `scripted_model`, and `approve` and `deny` for what a person would answer.
Options: `--pegboard-contract` holds the tools of a plugin to the contract; `--pegboard-record` and `--pegboard-replay`
keep what tools return on a tape.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pegboard import Board, Context, Result, Tool
    from pegboard_testing.answers import Answers
    from pegboard_testing.contract import Broken
    from pegboard_testing.harness import Example
    from pegboard_testing.scripts import ScriptedModel
    from pegboard_testing.tapes import Tape

CallTool = Callable[..., "Result"]
# Imports happen inside functions: this module is loaded by every pytest run, also by those that test something else.

TAPE: pytest.StashKey[Tape] = pytest.StashKey()
BROKEN: pytest.StashKey[list[Broken]] = pytest.StashKey()


class Specifications:
    """Hooks for conftest.py."""

    @pytest.hookspec(firstresult=True)
    def pytest_pegboard_examples(self, tool: Tool[Any, Any]) -> list[Example] | None:
        """Inputs with which the contract suite may run a tool: harmless in the sample tree."""

    @pytest.hookspec(firstresult=True)
    def pytest_pegboard_settings(self, tool: Tool[Any, Any]) -> dict[str, Any] | None:
        """Settings under which the contract suite runs a tool."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hook for examples."""
    pluginmanager.add_hookspecs(Specifications)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("pegboard")
    group.addoption(
        "--pegboard-contract",
        nargs="?",
        const="",
        metavar="DISTRIBUTION",
        help="check every promise of every tool of the plugin under test, or of this distribution (use =)",
    )
    group.addoption(
        "--pegboard-contract-report",
        metavar="FILE",
        help="only check the contract, and write the findings to FILE as JSON",
    )
    group.addoption("--pegboard-record", metavar="FILE", help="record what tools return in tests that use `board`")
    group.addoption(
        "--pegboard-replay",
        metavar="FILE",
        help="answer tool calls from a recording; a call that is not in it is an error",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Open the tape."""
    record: str = config.getoption("--pegboard-record") or ""
    replay: str = config.getoption("--pegboard-replay") or ""
    if record and replay:
        raise pytest.UsageError("--pegboard-record and --pegboard-replay cannot be used together.")
    if record and (config.getoption("numprocesses", None) or hasattr(config, "workerinput")):
        raise pytest.UsageError("--pegboard-record needs a single process. Run pytest without -n.")
    if record or replay:
        from pegboard_testing.tapes import Tape

        try:
            config.stash[TAPE] = Tape(Path(record or replay), recording=bool(record))
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"The tape {replay} cannot be read: {error}") from None


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the contract suite."""
    wanted: str | None = config.getoption("--pegboard-contract")
    if wanted is None:
        return
    from pegboard_testing import collect

    suite = collect.items(session, wanted)
    if config.getoption("--pegboard-contract-report"):
        config.stash[BROKEN] = []
        items[:] = suite
    else:
        items += suite


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Remember broken promises for the report."""
    if BROKEN in item.config.stash:
        from pegboard_testing import collect

        if broken := collect.broken_in(call):
            item.config.stash[BROKEN].append(broken)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save the tape and the report."""
    tape = session.config.stash.get(TAPE, None)
    if tape and tape.recording:
        tape.save()
    if BROKEN in session.config.stash:
        from pegboard_testing import collect

        report = str(session.config.getoption("--pegboard-contract-report"))
        collect.write_report(Path(report), session.config.stash[BROKEN])


@pytest.fixture
def answers() -> Answers:
    """What a person would answer when asked. There is no one to ask unless a test says otherwise."""
    from pegboard_testing.answers import Answers

    return Answers()


@pytest.fixture
def approve(answers: Answers) -> None:
    """Whatever asks is approved."""
    from pegboard import Allow

    answers.decision = Allow("Approved by the test.", layer="ask")


@pytest.fixture
def deny(answers: Answers) -> None:
    """Whatever asks is denied."""
    from pegboard import Deny

    answers.decision = Deny("Denied by the test.", layer="ask")


@pytest.fixture
def board(tmp_path: Path, answers: Answers, request: pytest.FixtureRequest) -> Iterator[Board]:
    """A board with every installed plugin, standing in a temporary folder, untouched by the user's own settings."""
    from pegboard import Board
    from pegboard.settings import load
    from pegboard_testing.warm import known_plugins

    home = tmp_path.parent / f"{tmp_path.name}-home"
    env = {"HOME": str(home), "PATH": os.environ.get("PATH", "")}
    tape = request.config.stash.get(TAPE, None)
    track = tape.track(request.node.nodeid) if tape else None
    with known_plugins(home):
        settings = load(tmp_path, env, managed=str(home / "managed"))
        loaded = Board.load(settings=settings, env=env, plugins=[answers, track] if track else [answers])
    yield loaded
    if track and track.misses:
        pytest.fail("\n".join(track.misses), pytrace=False)


@pytest.fixture
def ctx(board: Board) -> Context:
    """A context in the board's temporary folder."""
    return board.context()


@pytest.fixture
def call_tool(board: Board, ctx: Context) -> CallTool:
    """Call a tool as a model would: JSON in, a result out, through validation, permission and serialization."""
    import anyio

    from pegboard import Call

    def call(name: str, arguments: dict[str, Any] | str | None = None, /, **more: Any) -> Result:
        given = arguments if isinstance(arguments, str) else {**(arguments or {}), **more}
        return anyio.run(board.dispatch, Call("test", name, given), ctx)

    return call


@pytest.fixture
def scripted_model(board: Board) -> ScriptedModel:
    """A model that calls and says what the test wrote down, in a real session with the test's board."""
    from pegboard_testing.scripts import ScriptedModel

    return ScriptedModel(board)
