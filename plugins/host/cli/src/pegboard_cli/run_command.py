"""`pegboard run`: a model, the tools, and the loop between them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pegboard_cli import earlier_session, options, piped_input, request_flags, serve_schedules, until_complete
from pegboard_cli.main import FAILED, INTERRUPTED, OK, PROVIDER, READER_GONE, USAGE
from pegboard_cli.session_setup import MODEL
from pegboard_cli.trust_command import offer

if TYPE_CHECKING:
    import argparse

    from pegboard import Board
    from pegboard_cli.program import Program
    from pegboard_cli.views import StreamJsonView, View
    from pegboard_session import Outcome, Session

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard run "What does this project do?"
  pegboard run                                  a conversation, on a terminal
  cat build.log | pegboard run "Why did it fail?" | head -1
  echo "Count the files" | pegboard run --output-format json
  pegboard run --replay script.jsonl "Go"       play a script, no key needed
  pegboard run --continue "And now the tests"   continue this folder's last session
  pegboard run --effort high --json-schema answer.json "Which files are unused?"
  pegboard run --provider openai --model M "Hi" ask an OpenAI-compatible server
  pegboard run --agent Explore "Where is X?"    as an agent, with its tools only
  pegboard run --until-complete --max-time 3600 "Make the tests pass"
  pegboard run --serve-schedules "Look at the build every hour"

Needs ANTHROPIC_API_KEY, another provider, or --replay. Press Ctrl-C once to interrupt the answer, twice to quit.
"""


def run(words: list[str]) -> int:
    """The command."""
    given = parse(words)
    settings = offer(given, options.settings_for(given, **layer(given)), **layer(given))
    settings.require_sound()
    options.warn(settings, settings.notices)
    prompt = given.text
    if prompt == "":
        sys.stderr.write("pegboard: no prompt given. Give one as an argument or on standard input.\n")
        return USAGE
    if prompt is None and given.input_format == "text" and not given.serve_schedules:
        from pegboard_cli.conversation import run_conversation

        return run_conversation(given, settings)

    from pegboard import Board
    from pegboard_cli.ask_user import Answer
    from pegboard_cli.signals import run_stoppable
    from pegboard_cli.stdout_capture import StdoutCapture
    from pegboard_cli.views import view_for

    view, capture = view_for(given.output_format, final_only=is_final_only(given)), StdoutCapture()
    program = the_program(given, view)
    board = Board.load(settings=settings, plugins=[program or Answer(False, view), view, capture], record=True)
    view.board = board
    if program:
        program.board = board
    if not options.is_mode(given.permission_mode, board):
        return USAGE
    if reason := until_complete.refusal(given, board) or serve_schedules.refusal(given, board):
        sys.stderr.write(f"pegboard: {reason}\n")
        return USAGE
    options.warn(settings, [notice for notice in board.pool.notices if notice not in settings.notices])
    with capture, view:
        return run_stoppable(converse, given, board, view, program or prompt or "")


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
    kinds = ("text", "stream-json")
    parser.add_argument("--input-format", choices=kinds, default="text", help="text, or stream-json from a program")
    parser.add_argument("-p", "--print", action="store_true", help="print only the final answer, also on a terminal")
    parser.add_argument("--tools", metavar="A,B", help="show the model only these tools")
    parser.add_argument("--exclude-tools", metavar="A,B", help="hide these tools from the model")
    parser.add_argument("--allow", action="append", metavar="RULE", help="add an allow rule")
    parser.add_argument("--deny", action="append", metavar="RULE", help="add a deny rule")
    parser.add_argument("--agent", metavar="A", help="run as this agent, with its instructions, tools and limits")
    parser.add_argument("--add-dir", action="append", metavar="DIR", help="an additional working directory")
    earlier_session.add(parser)
    request_flags.add(parser)
    until_complete.add(parser)
    serve_schedules.add(parser)
    given = parser.parse_args(words)
    given.asking = request_flags.layer(parser, given)
    earlier_session.check(parser, given)
    until_complete.check(parser, given)
    serve_schedules.check(parser, given)
    for folder in given.add_dir or ():
        if not Path(folder).is_dir():
            parser.error(f"--add-dir: there is no folder {folder!r}")
    # Who serves schedules may have no prompt; standard input is not waited for then.
    is_read = not is_driven(parser, given) and (given.prompt is not None or not given.serve_schedules)
    given.text = piped_input.the_prompt(parser, given) if is_read else None
    if given.print and given.text is None and not given.serve_schedules:
        parser.error("--print needs a prompt")
    if given.until_complete and given.text is None and given.input_format == "text":
        parser.error("--until-complete needs a prompt")
    return given


def is_driven(parser: argparse.ArgumentParser, given: argparse.Namespace) -> bool:
    """Whether a program drives the conversation."""
    if given.input_format != "stream-json":
        return False
    if given.prompt is not None or given.print:
        parser.error("with --input-format stream-json, prompts come from standard input. Leave PROMPT and --print out")
    if given.output_format != "stream-json":
        parser.error("--input-format stream-json needs --output-format stream-json")
    return True


def is_final_only(given: argparse.Namespace) -> bool:
    """Whether standard output is for the final answer alone."""
    return given.print or not sys.stdout.isatty()


def the_program(given: argparse.Namespace, view: View) -> Program | None:
    """The program that drives the conversation, if one does."""
    if given.input_format != "stream-json":
        return None
    from pegboard_cli.program import Program

    return Program(cast("StreamJsonView", view))


def layer(given: argparse.Namespace) -> dict[str, Any]:
    """What the options say, as settings."""
    made: dict[str, Any] = {**given.asking, **until_complete.layer(given)}
    if given.tools is not None:
        made["availableTools"] = options.words(given.tools)
    if given.exclude_tools:
        made["excludedTools"] = options.words(given.exclude_tools)
    named = (("model", given.model), ("provider", given.provider))
    made |= {key: value for key, value in named if value}
    rules = {kind: value for kind, value in (("allow", given.allow), ("deny", given.deny)) if value}
    if rules:
        made["permissions"] = rules
    return made


async def converse(given: argparse.Namespace, board: Board, view: View, prompt: str | Program) -> int:
    """Answer the prompt, or the prompts of a program until it quits; Ctrl-C once interrupts the turn."""
    from pegboard import ProviderError
    from pegboard_cli.conversation import interrupt
    from pegboard_cli.session_setup import open_session
    from pegboard_cli.signals import interrupting
    from pegboard_cli.warm_up import warming_up

    opened: list[Session] = []
    try:
        waits = not isinstance(prompt, str) or given.serve_schedules
        with view.reader.watched(lambda: stop_for_reader(opened, prompt, waits=waits)):
            async with open_session(given, board) as session:
                opened.append(session)
                with interrupting(lambda: interrupt(session)), warming_up(session.board.pool.entries, board.plugins):
                    code = await answer(session, view, prompt, serves=given.serve_schedules)
                    return READER_GONE if code == INTERRUPTED and view.reader.is_gone else code
    except ProviderError as error:
        view.fail(str(error))
        return PROVIDER
    finally:
        for session in opened:
            view.say_goodbye(session)


def stop_for_reader(opened: list[Session], prompt: str | Program, *, waits: bool) -> None:
    """No one reads standard output any more: what runs is interrupted, and nothing new begins."""
    from signal import SIGPIPE

    from pegboard_cli import signals

    if not isinstance(prompt, str):
        prompt.stop()
    if opened and opened[0].is_running:
        opened[0].interrupt()
    elif not opened or waits:
        signals.stop(SIGPIPE)


async def answer(session: Session, view: View, prompt: str | Program, *, serves: bool = False) -> int:
    """One prompt, those of a program, or those of schedules."""
    try:
        if not isinstance(prompt, str):
            return await prompt.converse(session)
        code = await answer_one(session, view, prompt) if prompt else None
        if serves and code in (None, OK, FAILED):
            return await serve_schedules.serve(session, view, code, finish)
        return OK if code is None else code
    finally:
        if close := getattr(session.provider, "aclose", None):
            await close()


async def answer_one(session: Session, view: View, prompt: str) -> int:
    """One prompt, or the slash command that it names."""
    if not prompt.startswith("/"):
        return finish(await session.run(prompt), session, view)
    from pegboard_cli.slash_prompt import answer_prompt
    from pegboard_session import SlashCommandError

    try:
        outcome = await answer_prompt(session, prompt)
    except SlashCommandError as error:
        view.fail(str(error))
        return USAGE
    return finish(outcome, session, view)


def finish(outcome: Outcome, session: Session, view: View) -> int:
    """Show how it went; the exit code says it too."""
    outcome = until_complete.with_completion(outcome, session)
    view.finish(outcome, session)
    return exit_code(outcome)


def exit_code(outcome: Outcome) -> int:
    """How a prompt was answered, as an exit code."""
    return OK if outcome.is_success else INTERRUPTED if outcome.stopped_by == "interrupted" else FAILED
