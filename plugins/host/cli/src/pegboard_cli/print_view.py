"""Only the final answer on standard output: for pipes, and for `--print`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pegboard_cli.output import printable
from pegboard_cli.views import View

if TYPE_CHECKING:
    from pegboard_session import Outcome, Session


class PrintView(View):
    """The final answer goes to stdout when it is complete; everything else goes to stderr as it happens."""

    def __init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self._is_complete = False

    def on_text_written(self, text: str, **rest: Any) -> None:
        """Whether this is part of the final answer is known only when the message is complete."""
        if self._is_complete:
            self._set_aside()
        self._text.append(text)

    def on_message_finished(self, **data: Any) -> None:
        """What the model has said so far is final unless more follows."""
        super().on_message_finished(**data)
        self._is_complete = True

    def on_call_requested(self, id: str, name: str, input: dict[str, Any], **rest: Any) -> None:
        """A message with a call is not the final one."""
        super().on_call_requested(id, name, input, **rest)
        self._set_aside()

    def show_summary(self, text: str) -> None:
        """It is the final answer, which `finish` prints."""

    def finish(self, outcome: Outcome, session: Session) -> None:
        """The prompt is answered. What was said and is not the answer is on stderr."""
        if outcome.text.strip() != "".join(self._text).strip():
            self._set_aside()
        self._text, self._is_complete = [], False
        if outcome.text:
            self.print(printable(outcome.text.removesuffix("\n")) + "\n")
        super().finish(outcome, session)

    def _set_aside(self) -> None:
        """Text that is not the final answer."""
        text, self._text, self._is_complete = "".join(self._text), [], False
        if text.strip():
            sys.stderr.write(printable(text.strip(), sys.stderr) + "\n")
