"""The person who is asked, in a test."""

from __future__ import annotations

from pegboard import Answer, Decision, Question, hookimpl


class Answers:
    """Gives one answer to everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.decision: Decision | Answer | None = None
        self.asked: list[Question] = []

    @hookimpl
    def ask_user(self, question: Question) -> Decision | Answer | None:
        """Answer as the test wants; None means that there is no one to ask."""
        self.asked.append(question)
        return self.decision
