"""Ask the person at the terminal: this once, always with a rule they can read, no, or no with a reason."""

from __future__ import annotations

import os
import sys
import termios
from contextlib import nullcontext
from typing import TYPE_CHECKING

from pegboard import Allow, Decision, Deny, Question, SettingsError, hookimpl
from pegboard import Answer as Filled
from pegboard_cli.ask_form import ask_form
from pegboard_cli.question_text import lines_of, page, revealed
from pegboard_cli.remedies import what_to_do
from pegboard_cli.typed import TerminalInput, Typed

if TYPE_CHECKING:
    from pegboard_cli.views import View

SAFETY = frozenset({"protected-path", "critical-path", "unresolvable", "forced"})
"""Layers whose questions only a person may answer, not an option or a rule."""


class Answer:
    """Answers what calls ask: with `--yes`, or by asking on the terminal."""

    def __init__(self, yes: bool, view: View | None = None) -> None:
        self.yes, self.view = yes, view
        self.terminal_input = view.terminal_input if view else TerminalInput()
        self._always: set[str] = set()
        self.advice = ""
        """What the person can do about a call that was not approved because no one could be asked."""

    @hookimpl
    async def ask_user(self, question: Question) -> Decision | Filled | None:
        """Yes by option or by an earlier "always", else ask; without a terminal the call is denied."""
        safety = question.decision.layer in SAFETY
        if question.rules and self._always.issuperset(question.rules):
            return Allow("Approved earlier, with a rule.", layer="ask", rule=question.rules[0])
        if self.yes and not safety and not question.form:
            return Allow("Approved with --yes.", layer="--yes")
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            self.advice = what_to_do(question, safety=safety)
            reason = f"{question.decision.reason} --yes does not apply to a safety check."
            return Deny(reason, layer=question.decision.layer) if self.yes and not question.form else None
        room = self.view.question() if self.view else nullcontext()
        return await self.terminal_input.ask(lambda typed: self._ask(question, typed), room)

    def _ask(self, question: Question, typed: Typed) -> Decision | Filled:
        """Show the call as it will run and wait for a choice; or the form, to be filled in."""
        _forget_typed_ahead()
        if question.form:
            return ask_form(question, typed)
        colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        shown = page(lines_of(question, colour=colour), sys.stderr, typed)
        rules = question.rules if shown else ()
        choice = _choose(rules, typed)
        if choice == "y":
            return Allow("Approved at the terminal.", layer="ask")
        if choice == "a":
            return self._keep(question)
        if choice == "m":
            sys.stderr.write("Message to the model: ")
            sys.stderr.flush()
            words = typed.readline().strip()
            return Deny(f"The user denied it and said: {words}" if words else "The user denied it.", layer="ask")
        return Deny("The user denied it.", layer="ask")

    def _keep(self, question: Question) -> Decision:
        """Save the rules. Those that cannot be saved still apply until the end of this session."""
        self._always.update(question.rules)
        try:
            where = question.keep_rules()
            sys.stderr.write(f"Saved to {revealed(where)}.\n")
        except SettingsError as error:
            sys.stderr.write(f"Saved for this session only. {revealed(str(error))}\n")
        return Allow("Approved at the terminal, with a rule.", layer="ask", rule=question.rules[0])


def _choose(rules: tuple[str, ...], typed: Typed) -> str:
    """The person's choice: y, a, m or n. No answer and end of input mean no."""
    out = sys.stderr
    out.write("  y  yes, this once\n")
    if rules:
        out.write("  a  always: add to .pegboard/settings.local.json\n")
        for rule in rules:
            out.write(f"       allow {revealed(rule)}\n")
    out.write("  n  no\n  m  no, with a message to the model\n")
    keys = "y/a/N/m" if rules else "y/N/m"
    while True:
        out.write(f"Run it? [{keys}] ")
        out.flush()
        word = typed.readline().strip().lower()
        if word in ("", "n", "no"):
            return "n"
        if word in ("y", "yes"):
            return "y"
        if word == "m" or (word == "a" and rules):
            return word
        out.write(f"Please answer {', '.join(keys.lower().split('/'))}.\n")


def _forget_typed_ahead() -> None:
    """Discard what was typed before the question was shown: it is not an answer to it."""
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        return
