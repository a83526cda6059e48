"""`pegboard run`: a model, the tools, and the loop between them."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_cli import options
from pegboard_cli.main import FAILED, INTERRUPTED, OK, PROVIDER, USAGE
from pegboard_cli.trust_command import offer

if TYPE_CHECKING:
    import argparse

    from anyio.abc import TaskGroup

    from pegboard import Board, Context, Provider
    from pegboard.session.loop import Outcome, Session
    from pegboard.session.selected import Selected
    from pegboard.session.transcript import Transcript
    from pegboard.settings import Settings
    from pegboard_cli.views import View

MODEL = "claude-sonnet-5-5"
MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")

EXAMPLES = """\
  pegboard run "What does this project do?"
  pegboard run                                  a conversation, on a terminal
  echo "Count the files" | pegboard run --output-format json
  pegboard run --replay script.jsonl "Go"       play a script, no key needed
  pegboard run --resume "And now the tests"     go on with the last session
  pegboard run --agent Explore "Where is X?"    as an agent, with its tools only

Needs ANTHROPIC_API_KEY, or --replay. Ctrl-C once interrupts the turn, twice leaves.
"""


def run(words: list[str]) -> int:
    """The command."""
    given = parse(words)
    settings = offer(given, options.settings_for(given, **layer(given)), **layer(given))
    options.warn(settings, settings.notices)
    settings.require_sound()
    prompt = the_prompt(given)
    if prompt == "":
        sys.stderr.write("pegboard: there is no prompt. Give one as an argument or on standard input.\n")
        return USAGE

    import anyio

    from pegboard import Board
    from pegboard.execution.prints import keep_stdout_clean
    from pegboard.permission.audit import Audit
    from pegboard_cli.asking import Answer
    from pegboard_cli.views import view_for

    view = view_for(given.output_format)
    board = Board.load(settings=settings, plugins=[Answer(False, view, settings), view, *Audit.of(settings)])
    view.board = board
    options.warn(settings, [notice for notice in board.pool.notices if notice not in settings.notices])
    with keep_stdout_clean(), view:
        return anyio.run(converse, given, board, view, prompt)


def parse(words: list[str]) -> argparse.Namespace:
    """The options."""
    parser = options.parser("run", "Ask a model that can use the tools.", EXAMPLES)
    options.trusting(parser)
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to do; without it a conversation, or stdin")
    parser.add_argument("--replay", metavar="FILE", help="play this script instead of asking a model")
    parser.add_argument("--model", metavar="M", help=f"the model (default: {MODEL})")
    parser.add_argument("--permission-mode", metavar="M", choices=MODES, help=", ".join(MODES))
    formats = ("text", "json", "stream-json")
    parser.add_argument("--output-format", choices=formats, default="text", help="text, json or stream-json")
    parser.add_argument("--tools", metavar="A,B", help="show the model only these tools")
    parser.add_argument("--exclude-tools", metavar="A,B", help="hide these tools from the model")
    parser.add_argument("--allow", action="append", metavar="RULE", help="a permission rule that allows")
    parser.add_argument("--deny", action="append", metavar="RULE", help="a permission rule that denies")
    parser.add_argument("--agent", metavar="A", help="be this agent: its instructions, its tools, its limits")
    parser.add_argument("--max-turns", type=int, metavar="N", help="how many requests one prompt may take")
    parser.add_argument("--add-dir", action="append", metavar="DIR", help="a further working directory")
    parser.add_argument("--resume", nargs="?", const="", metavar="ID", help="go on with a session (default: the last)")
    given = parser.parse_args(words)
    if given.resume and given.prompt is None and not set(given.resume) <= set("0123456789abcdef"):
        given.prompt, given.resume = given.resume, ""  # `--resume "And now?"`: a prompt, not an id.
    if given.max_turns is not None and given.max_turns < 1:
        parser.error("--max-turns must be 1 or more")
    for folder in given.add_dir or ():
        if not Path(folder).is_dir():
            parser.error(f"--add-dir: there is no folder {folder!r}")
    return given


def layer(given: argparse.Namespace) -> dict[str, Any]:
    """What the options say, as settings."""
    made: dict[str, Any] = {}
    if given.tools is not None:
        made["availableTools"] = options.words(given.tools)
    if given.exclude_tools:
        made["excludedTools"] = options.words(given.exclude_tools)
    made |= {key: value for key, value in (("model", given.model), ("maxTurns", given.max_turns)) if value}
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


async def converse(given: argparse.Namespace, board: Board, view: View, prompt: str | None) -> int:
    """Answer the prompt, or prompts until the person has had enough."""
    from anyio import create_task_group

    from pegboard import PegboardError, ProviderError

    failed: Exception | None = None
    async with create_task_group() as group:
        try:
            return await answer(given, board, view, prompt, group)
        except ProviderError as error:
            view.fail(str(error))
            return PROVIDER
        except (PegboardError, OSError) as error:
            failed = error  # Raised outside the group, which would wrap it.
        finally:
            group.cancel_scope.cancel()
    if failed:
        raise failed
    return INTERRUPTED


async def answer(given: argparse.Namespace, board: Board, view: View, prompt: str | None, group: TaskGroup) -> int:
    """One session, with somebody who listens for Ctrl-C."""
    from pegboard_cli.interrupts import watch

    async with open_session(given, board) as session:
        await group.start(watch, session, group.cancel_scope)
        try:
            if prompt is None:
                return await chat(session, view)
            return finish(await session.run(prompt), session, view)
        finally:
            if close := getattr(session.provider, "aclose", None):
                await close()


async def chat(session: Session, view: View) -> int:
    """Prompts from the terminal, until end of file."""
    from pegboard import ProviderError

    while True:
        line = await view.desk.line(view.prompt)
        if not line:
            return OK
        if line.strip():
            try:
                finish(await session.run(line), session, view)
            except ProviderError as error:
                view.fail(str(error))


def finish(outcome: Outcome, session: Session, view: View) -> int:
    """Show how it went; the exit code says it too."""
    view.finish(outcome, session)
    return {"end": OK, "interrupted": INTERRUPTED}.get(outcome.stopped_by, FAILED)


def open_session(given: argparse.Namespace, board: Board) -> Session:
    """A session as the options and settings want it, new or resumed."""
    from pegboard.permission.modes import starting_mode
    from pegboard.session.loop import MAX_TURNS, Session
    from pegboard.session.transcript import restore
    from pegboard.settings import Notice
    from pegboard_cli.sessions_command import AS_AGENT, find_session, new_session, selected_agent

    settings: Settings = board.settings
    resumes = given.resume is not None
    path = find_session(given.resume) if resumes else new_session(settings)
    transcript = keep(path, settings, must=resumes) if path else None
    messages, changes = restore(path) if resumes and path else ([], [])
    roots = tuple(Path(folder).resolve() for folder in given.add_dir or ())
    ctx = board.context(roots=roots)
    for change in changes:
        ctx = ctx.after(change)
    # What was recorded is a wish like any other: an option is newer, and a refusal holds for it, too.
    recorded = ctx.mode if any(change.mode for change in changes) else None
    mode, refusal = starting_mode(settings, given.permission_mode or recorded)
    if refusal:
        options.warn(settings, [refusal])
    ctx = replace(ctx, mode=mode, cwd=ctx.cwd if ctx.cwd.is_dir() else Path(settings.cwd))
    name = given.agent if given.agent is not None or not (resumes and path) else selected_agent(path)
    chosen = the_agent(name, board, ctx) if name is not None else None
    if chosen:
        options.warn(settings, [Notice(f"--agent {name}", words) for words in chosen.warnings])
        ctx = chosen.ctx
    most = settings.get("maxTurns", MAX_TURNS)
    session = Session(
        chosen.board if chosen else board,
        the_provider(given, board),
        model=given.model or (chosen and chosen.model) or settings.get("model", MODEL),
        system=chosen.system if chosen else (),
        ctx=ctx,
        max_turns=min(most, chosen.max_turns or most) if chosen else most,
        transcript=transcript,
        session_id=path.stem if path else "",
    )
    if name is not None:
        session.write(AS_AGENT, name=name)
    if resumes:
        session.resume(messages, ctx)
    return session


def the_agent(name: str, board: Board, ctx: Context) -> Selected:
    """The session as the agent with this name."""
    from pegboard.errors import DefinitionError, ToolError
    from pegboard.nearest import did_you_mean
    from pegboard.session.selected import selected

    found = board.find_agents()
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise DefinitionError(f"There is no agent {name!r}.{did_you_mean(name, found)} The agents here are: {known}.")
    try:
        return selected(board, found[name], ctx)
    except ToolError as error:
        raise DefinitionError(error.message) from None


def keep(path: Path, settings: Settings, *, must: bool) -> Transcript | None:
    """The transcript; a new conversation goes on without one where there is no place to keep it."""
    from pegboard.session.transcript import Transcript
    from pegboard.settings import Notice

    try:
        return Transcript(path)
    except OSError as error:
        if must:
            raise
        options.warn(settings, [Notice(str(path), f"The conversation is not kept: {error.strerror}.")])
        return None


def the_provider(given: argparse.Namespace, board: Board) -> Provider:
    """The script, or the provider that settings name."""
    from pegboard import ProviderError
    from pegboard.session.replay import ReplayProvider

    if given.replay:
        return ReplayProvider.from_file(given.replay)
    name, found = board.settings.get("provider", "anthropic"), board.providers()
    if name not in found:
        raise ProviderError(
            f"There is no provider {name!r}. Install pegboard-{name}, or play a script with --replay.", kind="script"
        )
    if name == "anthropic" and not any(os.environ.get(v) for v in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")):
        raise ProviderError(
            "ANTHROPIC_API_KEY is not set. Set it, or play a script with --replay.", kind="authentication"
        )
    return found[name]
