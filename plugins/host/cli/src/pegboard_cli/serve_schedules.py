"""`pegboard run --serve-schedules`: stay, and run prompts when they are due."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, cast

from pegboard_cli.main import PROVIDER, USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pegboard import Board
    from pegboard_cli.views import View
    from pegboard_session import Outcome, Session

TOOL, SERVICE = "CronCreate", "schedules"
NOTHING = "there are no schedules to serve. Give a prompt that makes one, or have a durable one kept in a conversation."


class ScheduledPrompts(Protocol):
    """What a session has under the name `schedules`."""

    def serving(self) -> AbstractContextManager[None]:
        """Inside, durable schedules count too; a `PegboardError` where another process serves them."""
        ...

    async def next_prompt(self) -> str | None:
        """Wait for the next prompt that is due; None where nothing is left to wait for."""
        ...


def add(parser: argparse.ArgumentParser) -> None:
    """The option."""
    words = "stay, and run scheduled prompts when they are due, until none is left"
    parser.add_argument("--serve-schedules", action="store_true", help=words)


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse what cannot be meant."""
    if not given.serve_schedules:
        return
    if given.input_format != "text":
        parser.error("--serve-schedules cannot be combined with --input-format stream-json")
    if given.until_complete:
        parser.error("--serve-schedules cannot be combined with --until-complete")


def refusal(given: argparse.Namespace, board: Board) -> str:
    """Why schedules cannot be served, or nothing."""
    if not given.serve_schedules or board.pool.get(TOOL):
        return ""
    return f"--serve-schedules needs the tool {TOOL}. {board.pool.why_absent(TOOL)}"


async def serve(session: Session, view: View, code: int | None, finish: Callable[[Outcome, Session, View], int]) -> int:
    """Run prompts as they become due. Returns the exit code of the last one; `code` is that of a prompt before."""
    from pegboard import ProviderError  # Only here, where the rest of a session is loaded too.

    schedules, ran = cast("ScheduledPrompts", session.ctx.service(SERVICE)), code
    with schedules.serving():
        while (text := await schedules.next_prompt()) is not None:
            try:
                # As it is: a slash command is for a person to type, and a model may have written this.
                ran = finish(await session.run(text), session, view)
            except ProviderError as error:  # The next time may go better.
                view.fail(str(error))
                ran = PROVIDER
    if ran is None:
        sys.stderr.write(f"pegboard: {NOTHING}\n")
        return USAGE
    return ran
