"""`pegboard run` without a prompt: a conversation on a terminal, one session after the other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pegboard_cli import options
from pegboard_cli.first_line import show_first_line
from pegboard_cli.main import OK, PROVIDER, USAGE

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pegboard import Board, Settings
    from pegboard_cli.typed import Typed
    from pegboard_cli.views import View
    from pegboard_session import Session, SlashAnswer, SlashSwitch

# Imports happen inside functions: the first line is shown before what is slow to import.

VIEWS = "pegboard.views"
"""The entry-point group of what shows a conversation: the one named `terminal` takes the working directory."""

MORE = "For editing, completion and rendered answers, run: pip install pegboard-terminal\n"


def run_conversation(given: argparse.Namespace, settings: Settings) -> int:
    """The conversation, from its first line to its exit code."""
    path = greet(given, settings)

    from pegboard import Board
    from pegboard_cli.ask_user import Answer
    from pegboard_cli.signals import run_stoppable
    from pegboard_cli.stdout_capture import StdoutCapture

    view, capture = the_view(given, settings), StdoutCapture()
    asking = [] if hasattr(view, "ask_user") else [Answer(False, view)]
    board = Board.load(settings=settings, plugins=[*asking, view, capture], record=True)
    view.board = board
    if not options.is_mode(given.permission_mode, board):
        return USAGE
    options.warn(settings, [notice for notice in board.pool.notices if notice not in settings.notices])
    with capture, view:
        return run_stoppable(converse, given, board, view, path)


def greet(given: argparse.Namespace, settings: Settings) -> Path | None:
    """Show the first line. Returns where a new session is kept; None for an earlier one, or for no place."""
    from pegboard_cli.earlier_session import find_session
    from pegboard_cli.sessions_command import new_session

    earlier = find_session(given.resume, settings) if given.resume is not None else None
    path = new_session(settings) if earlier is None or given.fork else None
    shown = path or earlier
    if given.output_format == "text":
        show_first_line(given, settings, shown.stem if shown else "")
    return path


def the_view(given: argparse.Namespace, settings: Settings) -> View:
    """The screen of pegboard-terminal where it is installed and the terminal can show it; else plain lines."""
    from pegboard_cli.views import View, view_for

    if given.output_format != "text":
        return view_for(given.output_format)
    if os.environ.get("TERM", "dumb") == "dumb" or not sys.stdout.isatty():
        return View()
    from importlib.metadata import entry_points

    for point in entry_points(group=VIEWS, name="terminal"):
        with suppress(ImportError):  # It, or what it needs, is half uninstalled: plain lines always work.
            made: View = point.load()(settings.cwd)
            return made
    sys.stderr.write(MORE)
    return view_for("text")


async def converse(given: argparse.Namespace, board: Board, view: View, path: Path | None) -> int:
    """Sessions until the person leaves; a command may go on with another one."""
    ending = await one_session(given, board, view, path)
    while not isinstance(ending, int):
        given.resume, given.fork = ending.resume or None, False
        ending = await one_session(given, board, view, greet(given, board.settings), source="clear")
    return ending


async def one_session(
    given: argparse.Namespace, board: Board, view: View, path: Path | None, *, source: str = "startup"
) -> int | SlashSwitch:
    """Prompts and answers until the person leaves this session; `source` says how a new one begins."""
    from pegboard import ProviderError
    from pegboard_cli.session_setup import open_session
    from pegboard_cli.signals import interrupting
    from pegboard_cli.warm_up import warming_up

    opened: list[Session] = []
    try:
        made = open_session(given, board, path)
        made.source = source
        async with made as session:
            opened.append(session)
            with interrupting(lambda: interrupt(session)), warming_up(session.board.pool.entries, board.plugins):
                ending = await talk(session, view)
            session.ending = reason_of(ending)
            return ending
    except ProviderError as error:
        view.fail(str(error))
        return PROVIDER
    finally:
        for session in opened:
            view.say_goodbye(session)


def reason_of(ending: int | SlashSwitch) -> str:
    """Why a session ends, for `end_session` hooks."""
    if isinstance(ending, int):
        return "prompt_input_exit"
    return "resume" if ending.resume else "clear"


async def talk(session: Session, view: View) -> int | SlashSwitch:
    """On a screen, or line by line."""
    try:
        if run := getattr(view, "converse", None):
            return await run(session)  # type: ignore[no-any-return]
        return await chat(session, view)
    finally:
        if close := getattr(session.provider, "aclose", None):
            await close()


async def chat(session: Session, view: View) -> int | SlashSwitch:
    """Plain lines from the terminal, until end of file."""
    from pegboard import PegboardError

    while True:
        line = await view.terminal_input.line(view.prompt)
        if not line:
            return OK
        try:
            ending = await chat_line(session, view, line)
        except PegboardError as error:
            view.fail(str(error))
            continue
        if ending is not None:
            return ending


async def chat_line(session: Session, view: View, line: str) -> int | SlashSwitch | None:
    """Answer one line: a prompt, or a command. What it returns ends the conversation."""
    from pegboard_session import SlashExit, SlashPrompt, SlashSwitch, answer_slash_command, split_slash_command

    if slash := split_slash_command(line.strip()):
        said = await confirmed(await answer_slash_command(session, *slash), view)
        if isinstance(said, SlashExit):
            return OK
        if isinstance(said, SlashSwitch):
            return said
        line = said.text if isinstance(said, SlashPrompt) else ""
        if isinstance(said, str):
            view.show_answer(said)
    if line.strip():
        view.finish(await session.run(line), session)
    return None


async def confirmed(said: SlashAnswer, view: View) -> SlashAnswer:
    """What a command answers, after it was asked whether it shall."""
    from pegboard_session import SlashConfirm

    while isinstance(said, SlashConfirm):
        view.show_answer(said.text)
        agreed = await view.terminal_input.ask(partial(agrees, said.question), view.question())
        said = await said.then() if agreed else "Nothing was done."
    return said


def agrees(question: str, typed: Typed) -> bool:
    """A yes or no of the person at the terminal. No answer, and the end of input, mean no."""
    while True:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        word = typed.readline().strip().lower()
        if word in ("", "n", "no", "y", "yes"):
            return word in ("y", "yes")
        sys.stderr.write("Please answer y, n.\n")


def interrupt(session: Session) -> bool:
    """Interrupt the turn; False when there is none, or it was interrupted already."""
    from pegboard_cli.signals import say

    if not session.is_running or session.is_interrupted:
        return False
    say("\nInterrupting; press Ctrl-C again to quit.\n")
    session.interrupt()
    return True
