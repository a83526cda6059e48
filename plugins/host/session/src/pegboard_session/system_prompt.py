"""The system prompt of a session: parts that plugins bring once, when it opens, in an order that services can cache."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pegboard import SettingsError
from pegboard.hosting import maybe_await

if TYPE_CHECKING:
    from pegboard_session.loop import Session

INSTRUCTIONS, GUIDANCE = "instructions", "guidance"
FIRST, MIDDLE = 10, 50

log = logging.getLogger("pegboard")


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of the system prompt, such as `instructions` or `environment`."""

    name: str
    text: str
    order: int = MIDDLE
    """Lower numbers come first. What many sessions share should: 10 for instructions, 50 for the guidance of tools, 90
    for what belongs to one session only."""
    keep: bool = False
    """Whether a resumed session sends the text of its beginning again, even if it would be another one today."""


class SystemPrompt:
    """The parts of one session. They are fixed when it opens; only the guidance follows the tools that are there."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parts: list[PromptPart] = []

    async def open(self, earlier: Mapping[str, str]) -> None:
        """Ask the plugins. `earlier` has the texts that a resumed session keeps, by name of the part."""
        session = self._session
        ctx = session.board.equip(session.ctx)
        for hook in session.board.hooks.system_prompt_parts:
            try:
                found: Sequence[PromptPart] = await maybe_await(hook(session, ctx)) or ()
            except SettingsError:
                raise  # The settings name a text that does not exist.
            except Exception:
                log.exception("a system_prompt_parts hook failed")
                continue
            taken = {part.name for part in self._parts}
            new = [part for part in found if part.text and part.name not in taken]
            self._parts += [
                replace(part, text=earlier.get(part.name, part.text)) if part.keep else part for part in new
            ]
        if (kept := self.kept()) and kept != earlier:
            session.write("system", parts=kept)

    def kept(self) -> dict[str, str]:
        """What a session that goes on later has to send again."""
        return {part.name: part.text for part in self._parts if part.keep}

    def parts(self) -> list[PromptPart]:
        """What the next request sends, in its order."""
        session = self._session
        pool = session.tools.pool(session.profile)
        guidance = [PromptPart(GUIDANCE, text) for text in pool.guidance() if text]
        own = [PromptPart(INSTRUCTIONS, text, FIRST) for text in session.system if text]
        others = [part for part in self._parts if not own or part.name != INSTRUCTIONS]
        return sorted([*own, *others, *guidance], key=lambda part: part.order)
