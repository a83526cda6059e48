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
    from pegboard_cli.views import View

HERE = Path(__file__).parent / "demo"

EXAMPLES = """\
  pegboard demo
  pegboard demo --output-format stream-json     the same as events
"""

INTRODUCTION = """\
A model was asked to find out why the tests of a small project fail. Its answers are recorded;
everything else is real: the tools, the files, the commands, the decisions.
"""

NEXT = """
What to do next:
  pegboard tools                      what is on the board, and --all for what is not, and why
  pegboard call Read file_path=...    call a tool yourself
  pegboard run "your prompt"          the same with a real model (set ANTHROPIC_API_KEY)
  docs/tutorial/first-tool.md         write a tool of your own
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("demo", "A recorded session through the real executor. Needs no key.", EXAMPLES)
    formats = ("text", "json", "stream-json")
    parser.add_argument("--output-format", choices=formats, default="text", help="text, json or stream-json")
    given = parser.parse_args(words)

    import anyio

    from pegboard.execution.prints import keep_stdout_clean
    from pegboard_cli.views import view_for

    view = view_for(given.output_format)
    plain = given.output_format == "text"
    with tempfile.TemporaryDirectory(prefix="pegboard-demo-") as folder:
        given.cwd = folder
        lay_out(Path(folder))
        view.board = board = the_board(given, view)
        if plain:
            sys.stdout.write(INTRODUCTION + "\n")
        with keep_stdout_clean(), view:
            anyio.run(play, board, view)
    if plain:
        sys.stdout.write(NEXT)
    return OK


def lay_out(folder: Path) -> None:
    """The small project."""
    for source in sorted((HERE / "project").iterdir()):
        (folder / source.name.removesuffix(".txt")).write_text(source.read_text())


def the_board(given: object, view: View) -> Board:
    """A board with this folder's settings only: edits and commands are approved, one kind of command is denied."""
    from pegboard import Board
    from pegboard.settings import Settings, load
    from pegboard_cli.asking import Answer

    cwd = given.cwd  # type: ignore[attr-defined]
    cli = {"permissions": {"deny": ["Bash(curl *)"]}, "only": ["files", "shell"]}
    settings: Settings = load(cwd, {}, cli=cli)
    return Board.load(settings=settings, plugins=[Answer(True), view])


async def play(board: Board, view: View) -> None:
    """The session."""
    from pegboard.session.loop import Session
    from pegboard.session.replay import ReplayProvider

    provider = ReplayProvider.from_file(HERE / "script.jsonl")
    async with Session(board, provider, model="a recording") as session:
        view.finish(await session.run("The tests fail. Find out why and mend it."), session)
