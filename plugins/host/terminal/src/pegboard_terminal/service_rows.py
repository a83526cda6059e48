"""What services of plugins show below the conversation while the model works, such as the list of tasks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pegboard.wording import on_one_line

if TYPE_CHECKING:
    from pegboard_session import Session

MOST = 8
"""How many rows all services have together."""

log = logging.getLogger("pegboard")


def service_rows(session: Session) -> list[str]:
    """The rows of every service that has a method `terminal_rows`."""
    rows: list[str] = []
    for service in session.ctx.services.others.values():
        make = getattr(service, "terminal_rows", None)
        if callable(make):
            try:
                rows += [on_one_line(str(row)) for row in make()]
            except Exception:  # It is called for every frame: a fault of a plugin must not end the conversation.
                log.debug("the rows of a service could not be made", exc_info=True)
    return rows[:MOST]
