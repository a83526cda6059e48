"""Ask the person at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anyio import to_thread

from pegboard import Allow, Decision, Deny, Question, hookimpl
from pegboard_cli.output import visible

if TYPE_CHECKING:
    from pegboard_cli.views import View


class Answer:
    """Answers what calls ask: with `--yes`, or by asking on the terminal."""

    def __init__(self, yes: bool, view: View | None = None) -> None:
        self.yes, self.view = yes, view

    @hookimpl
    async def ask_user(self, question: Question) -> Decision | None:
        """Yes by option, else ask; without a terminal nobody answers, and the call is denied."""
        if self.yes:
            return Allow("Approved with --yes.", layer="ask")
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        if self.view:
            self.view.pause()
        try:
            return await to_thread.run_sync(ask, question, abandon_on_cancel=True)
        finally:
            if self.view:
                self.view.resume()


def ask(question: Question) -> Decision:
    """Show the call as it will run and wait for yes or no."""
    sys.stderr.write(f"{visible(question.description)}\n{visible(question.decision.reason)}\n")
    for line in (question.preview or "").splitlines():
        sys.stderr.write(f"{visible(line)}\n")
    sys.stderr.write("Run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return Allow("Approved at the terminal.", layer="ask")
    return Deny("Refused at the terminal.", layer="ask")
