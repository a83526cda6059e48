"""Ctrl-C once interrupts the turn, twice leaves."""

from __future__ import annotations

import signal
import sys

import anyio
from anyio.abc import TaskStatus

from pegboard.session.loop import Session


async def watch(session: Session, everything: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    """Listen for Ctrl-C until told to stop."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        count = 0
        async for number in signals:
            count = 0 if not session.is_running else count + 1
            if number == signal.SIGTERM or count != 1:
                everything.cancel()
                return
            sys.stderr.write("\nInterrupting; press Ctrl-C again to leave.\n")
            session.interrupt()
