"""A session as the options and settings want it: new or resumed, as an agent or not, with its provider."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_cli import options

if TYPE_CHECKING:
    import argparse

    from pegboard import Board, Context, Settings
    from pegboard_session import Provider, Session, Transcript

# Imports happen inside functions: a listing and --help must not load what only other commands need.

MODEL = "claude-sonnet-5-5"


def open_session(given: argparse.Namespace, board: Board, new: Path | None = None) -> Session:
    """A session as the options and settings want it, resumed or new; `new` is where a new one is to be kept."""
    from pegboard import Notice
    from pegboard_cli.earlier_session import find_session, show_where
    from pegboard_cli.sessions_command import AS_AGENT, new_session, selected_agent
    from pegboard_session import Restored, Retries, Session, restore

    settings: Settings = board.settings
    resumes = given.resume is not None
    earlier = find_session(given.resume, settings) if resumes else None
    path = (new or new_session(settings)) if earlier is None or given.fork else earlier
    transcript = keep(path, settings, must=resumes, fork_of=earlier if given.fork else None) if path else None
    restored = restore(earlier) if earlier else Restored()
    if earlier and given.output_format == "text":
        show_where(earlier, restored, is_fork=given.fork)
    roots = tuple(Path(folder).resolve() for folder in given.add_dir or ())
    ctx = board.context(roots=roots)
    ctx = ctx.after(replace(restored.change(), mode=None))
    # A recorded mode is only a request: an option overrides it, and a refusal applies to it too.
    recorded = restored.change().mode
    mode, refusal = board.hooks.modes.starting(settings, given.permission_mode or recorded)
    if refusal:
        options.warn(settings, [refusal])
    ctx = replace(ctx, mode=mode, cwd=ctx.cwd if ctx.cwd.is_dir() else Path(settings.cwd))
    name = given.agent if given.agent is not None or not resumes else selected_agent(restored.lines)
    chosen = the_agent(name, board, ctx) if name is not None else None
    if chosen:
        options.warn(settings, [Notice(f"--agent {name}", words) for words in chosen.warnings])
        ctx = chosen.ctx
    most, provider = settings.get("maxTurns"), the_provider(given, board)
    session = Session(
        chosen.board if chosen else board,
        provider,
        model=given.model or (chosen and chosen.model) or settings.get("model", default_model(provider)),
        system=chosen.system if chosen and not given.system_prompt else (),
        ctx=ctx,
        max_turns=min(most, chosen.max_turns or most) if chosen else most,
        transcript=transcript,
        retries=Retries.of(settings, watched=sys.stdin.isatty() and sys.stderr.isatty()),
        session_id=path.stem if path else "",
        definition=chosen.definition if chosen else None,
        output_schema=the_schema(settings),
    )
    if name is not None:
        session.write(AS_AGENT, name=name)
    if resumes:
        session.resume(restored, ctx)
    return session


def the_agent(name: str, board: Board, ctx: Context) -> Any:
    """The session as the agent with this name."""
    from pegboard import DefinitionError, ToolError
    from pegboard.wording import did_you_mean
    from pegboard_session import find_agents

    as_agent = board.services.others.get("run_as_agent")
    if not callable(as_agent):
        raise DefinitionError("--agent needs the package pegboard-agent. Run: pip install pegboard-agent")
    found = find_agents(board)
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise DefinitionError(f"There is no agent {name!r}.{did_you_mean(name, found)} The agents here are: {known}.")
    try:
        return as_agent(board, found[name], ctx)
    except ToolError as error:
        raise DefinitionError(error.message) from None


def the_schema(settings: Settings) -> Any:
    """The schema of final answers that settings name, if any."""
    if not (name := settings.get("jsonSchema", None)):
        return None
    from pegboard_session.structured_output import read_schema

    return read_schema(Path(settings.cwd, name).expanduser(), settings.holders("jsonSchema")[0].source_of("jsonSchema"))


def keep(path: Path, settings: Settings, *, must: bool, fork_of: Path | None = None) -> Transcript | None:
    """The transcript; a new conversation goes on without one where there is no place to keep it."""
    from pegboard import Notice
    from pegboard_session import Transcript

    try:
        return Transcript(path, lazy=True, fork_of=fork_of)
    except OSError as error:
        if must:
            raise
        options.warn(settings, [Notice(str(path), f"The conversation is not saved: {error.strerror}.")])
        return None


def the_provider(given: argparse.Namespace, board: Board, *, asks: bool = True) -> Provider:
    """The script, or the provider that settings name; one that is not asked (`asks`) needs no key."""
    from pegboard import ProviderError
    from pegboard.wording import did_you_mean
    from pegboard_session import ReplayProvider, find_providers

    if given.replay:
        return ReplayProvider.from_file(given.replay)
    name, found = board.settings.get("provider"), find_providers(board)
    if name not in found:
        known = f" The providers here are: {', '.join(sorted(found))}." if found else ""
        raise ProviderError(
            f"There is no provider {name!r}.{did_you_mean(name, found)}{known} Install the package that provides it, "
            "or play a script with --replay.",
            kind="script",
        )
    missing = getattr(found[name], "missing", None)
    if asks and missing and (needed := missing()):
        reason = f"{needed} is not set. Set it, or play a script with --replay."
        raise ProviderError(reason, kind="authentication")
    return found[name]


def default_model(provider: Provider) -> str:
    """The model to ask where none is named."""
    return str(getattr(provider, "default_model", MODEL))


def prepare(given: argparse.Namespace, board: Board) -> Session:
    """A new session without a conversation: nothing is saved, and no key is needed."""
    from pegboard_session import Session

    settings: Settings = board.settings
    mode, refusal = board.hooks.modes.starting(settings, given.permission_mode)
    if refusal:
        options.warn(settings, [refusal])
    ctx = replace(board.context(), mode=mode)
    chosen = the_agent(given.agent, board, ctx) if given.agent is not None else None
    given.replay = None
    provider = the_provider(given, board, asks=False)
    return Session(
        chosen.board if chosen else board,
        provider,
        model=given.model or (chosen and chosen.model) or settings.get("model", default_model(provider)),
        system=chosen.system if chosen and not given.system_prompt else (),
        ctx=chosen.ctx if chosen else ctx,
        definition=chosen.definition if chosen else None,
        output_schema=the_schema(settings),
    )
