"""Conversations on a terminal. `pegboard run` without a prompt opens a `TerminalView` where one can be drawn."""

from pegboard_terminal.view import TerminalView

__all__ = ["TerminalView"]
