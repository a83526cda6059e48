"""Reminders: what the model should know now, in a text block of the next user message.

Nothing that was sent before changes, so the service can go on using what it has cached.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard_session.loop import Session

TAG = "system-reminder"
REMINDER = f"<{TAG}>"
"""How every reminder begins."""
_TAG = re.compile(rf"<(?=/?\s*{TAG}\b)", re.IGNORECASE)

log = logging.getLogger("pegboard")


def as_reminder(words: str) -> str:
    """The words between the tags of a reminder. Tags inside, as in a file that is quoted, lose their meaning."""
    return f"<{TAG}>\n{without_tags(words.strip())}\n</{TAG}>"


def without_tags(words: str) -> str:
    """Words of others for a message of ours: tags of reminders in them lose their meaning."""
    return _TAG.sub("&lt;", words)


def collect_reminders(session: Session, moment: str) -> list[str]:
    """What plugins want the next user message to say. One that fails is logged, and says nothing."""
    found: list[str] = []
    for hook in session.board.hooks.add_reminders:
        try:
            said: Any = hook(session, moment)
            found += [as_reminder(words) for words in ([said] if isinstance(said, str) else said or ()) if words]
        except Exception:
            log.exception("an add_reminders hook failed")
    return found
