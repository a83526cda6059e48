"""Ask the person at the terminal."""

from __future__ import annotations

import sys

from pegboard import Allow, Decision, Deny, Question, hookimpl
from pegboard_cli.output import visible


class Answer:
    """Answers questions of a single call: with `--yes`, or by asking on the terminal."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes

    @hookimpl
    def ask_user(self, question: Question) -> Decision | None:
        """Yes by option, else ask; without a terminal nobody answers, and the call is denied."""
        if self.yes:
            return Allow("Approved with --yes.", layer="ask")
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        sys.stderr.write(f"{visible(question.description)}\n{visible(question.decision.reason)}\n")
        if question.preview:
            sys.stderr.write(question.preview + "\n")
        sys.stderr.write("Run it? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return Allow("Approved at the terminal.", layer="ask")
        return Deny("Refused at the terminal.", layer="ask")
