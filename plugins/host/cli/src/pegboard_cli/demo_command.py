"""`pegboard demo`: a recorded session through the real executor, in a temporary folder. Needs no key."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_cli import options
from pegboard_cli.main import OK

if TYPE_CHECKING:
    from pegboard import Board
    from pegboard_cli.stdout_capture import StdoutCapture
    from pegboard_cli.views import View

# Imports happen inside functions: a listing and --help must not load what only other commands need.

HERE = Path(__file__).parent / "demo"

EXAMPLES = """\
  pegboard demo
  pegboard demo --output-format stream-json     the same, as events
"""

INTRODUCTION = """\
A model is asked to fix the failing tests of a small project. Its answers are recorded;
everything else is real: the tools, the files, the commands and the decisions.
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("demo", "Play a recorded session through the real executor. No API key needed.", EXAMPLES)
    formats = ("text", "json", "stream-json")
    parser.add_argument("--output-format", choices=formats, default="text", help="text, json or stream-json")
    given = parser.parse_args(words)

    from pegboard_cli.signals import run_stoppable
    from pegboard_cli.stdout_capture import StdoutCapture
    from pegboard_cli.views import view_for

    view, capture = view_for(given.output_format), StdoutCapture()
    plain = given.output_format == "text"
    with tempfile.TemporaryDirectory(prefix="pegboard-demo-") as folder:
        given.cwd = folder
        lay_out(Path(folder))
        view.board = board = the_board(given, view, capture)
        if plain:
            sys.stdout.write(INTRODUCTION + "\n")
        with capture, view:
            run_stoppable(play, board, view)
    if plain:
        from pegboard_cli.next_steps import next_steps

        sys.stdout.write(next_steps(board))
    return OK


def lay_out(folder: Path) -> None:
    """The small project."""
    for source in sorted((HERE / "project").iterdir()):
        (folder / source.name.removesuffix(".txt")).write_text(source.read_text())


def the_board(given: object, view: View, capture: StdoutCapture) -> Board:
    """A board with this folder's settings only: edits and commands are approved, one kind of command is denied."""
    from pegboard import Board, Settings
    from pegboard.settings import load
    from pegboard_cli.ask_user import Answer

    cwd = given.cwd  # type: ignore[attr-defined]
    cli = {"permissions": {"deny": ["Bash(curl *)"]}, "only": ["files", "shell"]}
    settings: Settings = load(cwd, {}, cli=cli)
    return Board.load(settings=settings, plugins=[Answer(True), view, capture])


async def play(board: Board, view: View) -> None:
    """The session."""
    from pegboard_session.loop import Session
    from pegboard_session.replay import ReplayProvider

    provider = ReplayProvider.from_file(HERE / "script.jsonl")
    async with Session(board, provider, model="a recording") as session:
        view.finish(await session.run("The tests fail. Find out why and fix it."), session)
