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
        async for number in signals:
            if number == signal.SIGTERM or not session.is_running or session.is_interrupted:
                everything.cancel()
                return
            sys.stderr.write("\nInterrupting; press Ctrl-C again to leave.\n")
            session.interrupt()
