"""The file service: what a conversation knows about files, and the one safe way to write them.

Names load on first use: listing tools imports this package and must not pay for the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Settings
    from pegboard_files.escapes import TERMINAL_ESCAPE as TERMINAL_ESCAPE
    from pegboard_files.escapes import plain_text as plain_text
    from pegboard_files.interface import FileEvent as FileEvent
    from pegboard_files.interface import FileListener as FileListener
    from pegboard_files.interface import Files as Files
    from pegboard_files.interface import FileState as FileState
    from pegboard_files.interface import Undo as Undo
    from pegboard_files.interface import Written as Written
    from pegboard_files.results import ResultsStore as ResultsStore
    from pegboard_files.service import LocalFiles as LocalFiles
    from pegboard_files.undo import UndoStore as UndoStore

# Imports happen inside functions: importing a plugin must not load the service that only a call needs.


@hookimpl
def register_services(settings: Settings, env: Mapping[str, str]) -> dict[str, object]:
    """Offer the files of this machine as `ctx.files`, and a place for results that are too long to show."""
    from pegboard.settings import state_dir
    from pegboard_files.results import RETENTION_DAYS, BoardResults
    from pegboard_files.service import LocalFiles

    days = settings.get("resultRetentionDays", RETENTION_DAYS)
    return {"files": LocalFiles(state_dir(env)), "results": BoardResults(env, days)}


_HOME = {
    **dict.fromkeys(
        (
            "FileEvent",
            "FileListener",
            "FileState",
            "Files",
            "Undo",
            "Written",
        ),
        "interface",
    ),
    "LocalFiles": "service",
    "ResultsStore": "results",
    "TERMINAL_ESCAPE": "escapes",
    "UndoStore": "undo",
    "plain_text": "escapes",
}

__all__ = [*sorted(_HOME), "register_services"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard_files has no {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"pegboard_files.{_HOME[name]}"), name)
    globals()[name] = value
    return value
