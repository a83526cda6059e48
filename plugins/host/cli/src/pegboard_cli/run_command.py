"""`pegboard run`: a model, the tools, and the loop between them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_cli import earlier_session, options, request_flags
from pegboard_cli.main import FAILED, INTERRUPTED, OK, PROVIDER, USAGE
from pegboard_cli.session_setup import MODEL
from pegboard_cli.trust_command import offer

if TYPE_CHECKING:
    import argparse

    from pegboard import Board
    from pegboard_cli.views import View
    from pegboard_session import Outcome, Session

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard run "What does this project do?"
  pegboard run                                  a conversation, on a terminal
  echo "Count the files" | pegboard run --output-format json
  pegboard run --replay script.jsonl "Go"       play a script, no key needed
  pegboard run --continue "And now the tests"   continue this folder's last session
  pegboard run --effort high --json-schema answer.json "Which files are unused?"
  pegboard run --provider openai --model M "Hi" ask an OpenAI-compatible server
  pegboard run --agent Explore "Where is X?"    as an agent, with its tools only

Needs ANTHROPIC_API_KEY, another provider, or --replay. Press Ctrl-C once to interrupt the turn, twice to quit.
"""


def run(words: list[str]) -> int:
    """The command."""
    given = parse(words)
    settings = offer(given, options.settings_for(given, **layer(given)), **layer(given))
    settings.require_sound()
    options.warn(settings, settings.notices)
    prompt = the_prompt(given)
    if prompt == "":
        sys.stderr.write("pegboard: no prompt given. Give one as an argument or on standard input.\n")
        return USAGE
    if prompt is None:
        from pegboard_cli.conversation import run_conversation

        return run_conversation(given, settings)

    from pegboard import Board
    from pegboard_cli.ask_user import Answer
    from pegboard_cli.signals import run_stoppable
    from pegboard_cli.stdout_capture import StdoutCapture
    from pegboard_cli.views import view_for

    view, capture = view_for(given.output_format), StdoutCapture()
    board = Board.load(settings=settings, plugins=[Answer(False, view), view, capture], record=True)
    view.board = board
    if not options.is_mode(given.permission_mode, board):
        return USAGE
    options.warn(settings, [notice for notice in board.pool.notices if notice not in settings.notices])
    with capture, view:
        return run_stoppable(converse, given, board, view, prompt)


def parse(words: list[str]) -> argparse.Namespace:
    """The options."""
    parser = options.parser("run", "Run a prompt with a model that can use the tools.", EXAMPLES)
    options.trusting(parser)
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the prompt (default: stdin, or a conversation)")
    parser.add_argument("--replay", metavar="FILE", help="play this script instead of a model")
    parser.add_argument("--provider", metavar="P", help=options.PROVIDER)
    parser.add_argument("--model", metavar="M", help=f"the model (default: the provider's, {MODEL} for anthropic)")
    parser.add_argument("--permission-mode", metavar="M", help=options.MODES)
    formats = ("text", "json", "stream-json")
    parser.add_argument("--output-format", choices=formats, default="text", help="text, json or stream-json")
    parser.add_argument("--tools", metavar="A,B", help="show the model only these tools")
    parser.add_argument("--exclude-tools", metavar="A,B", help="hide these tools from the model")
    parser.add_argument("--allow", action="append", metavar="RULE", help="add an allow rule")
    parser.add_argument("--deny", action="append", metavar="RULE", help="add a deny rule")
    parser.add_argument("--agent", metavar="A", help="run as this agent, with its instructions, tools and limits")
    parser.add_argument("--max-turns", type=int, metavar="N", help="the maximum number of requests per prompt")
    parser.add_argument("--add-dir", action="append", metavar="DIR", help="an additional working directory")
    earlier_session.add(parser)
    request_flags.add(parser)
    given = parser.parse_args(words)
    given.asking = request_flags.layer(parser, given)
    earlier_session.check(parser, given)
    if given.max_turns is not None and given.max_turns < 1:
        parser.error("--max-turns must be 1 or more")
    for folder in given.add_dir or ():
        if not Path(folder).is_dir():
            parser.error(f"--add-dir: there is no folder {folder!r}")
    return given


def layer(given: argparse.Namespace) -> dict[str, Any]:
    """What the options say, as settings."""
    made: dict[str, Any] = dict(given.asking)
    if given.tools is not None:
        made["availableTools"] = options.words(given.tools)
    if given.exclude_tools:
        made["excludedTools"] = options.words(given.exclude_tools)
    named = (("model", given.model), ("provider", given.provider), ("maxTurns", given.max_turns))
    made |= {key: value for key, value in named if value}
    rules = {kind: value for kind, value in (("allow", given.allow), ("deny", given.deny)) if value}
    if rules:
        made["permissions"] = rules
    return made


def the_prompt(given: argparse.Namespace) -> str | None:
    """The prompt; None means a conversation on a terminal."""
    if given.prompt is not None:
        return str(given.prompt).strip()
    if sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


async def converse(given: argparse.Namespace, board: Board, view: View, prompt: str) -> int:
    """Answer the prompt; Ctrl-C once interrupts the turn."""
    from pegboard import ProviderError
    from pegboard_cli.conversation import interrupt
    from pegboard_cli.session_setup import open_session
    from pegboard_cli.signals import interrupting
    from pegboard_cli.warm_up import warming_up

    opened: list[Session] = []
    try:
        async with open_session(given, board) as session:
            opened.append(session)
            with interrupting(lambda: interrupt(session)), warming_up(session.board.pool.entries, board.plugins):
                return await answer(session, view, prompt)
    except ProviderError as error:
        view.fail(str(error))
        return PROVIDER
    finally:
        for session in opened:
            view.say_goodbye(session)


async def answer(session: Session, view: View, prompt: str) -> int:
    """One prompt."""
    try:
        return finish(await session.run(prompt), session, view)
    finally:
        if close := getattr(session.provider, "aclose", None):
            await close()


def finish(outcome: Outcome, session: Session, view: View) -> int:
    """Show how it went; the exit code says it too."""
    view.finish(outcome, session)
    return {"end": OK, "interrupted": INTERRUPTED}.get(outcome.stopped_by, FAILED)
