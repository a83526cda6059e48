"""The first line of a conversation on a terminal, before anything slow is imported: model, folder, session and mode."""

from __future__ import annotations

import os
import sys

from pegboard_cli.output import styled, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from pegboard import Settings

ID = 12
"""How many characters of a session's id are shown; as many are needed to continue it."""


def show_first_line(given: argparse.Namespace, settings: Settings, session_id: str) -> None:
    """Print it. What turns out otherwise later, such as a mode that is refused, is said then."""
    parts = [model_name(given, settings), folder_name(settings.cwd)]
    parts += [f"session {session_id[:ID]}"] if session_id else []
    parts += [f"mode {given.permission_mode or settings.get('permissions.defaultMode', 'default')}"]
    out = sys.stdout if sys.stdout.isatty() else sys.stderr  # In a pipe, standard output is for the answers.
    out.write(f"{styled('pegboard', 'bold')} {styled(visible(' · '.join(parts)), 'dim')}\n")
    out.flush()


def model_name(given: argparse.Namespace, settings: Settings) -> str:
    """The model as far as it is known without its provider."""
    from pegboard_cli.session_setup import MODEL  # It imports the session, which is slow.

    if given.replay:
        return f"the script {os.path.basename(given.replay)}"
    provider: str = settings.get("provider")
    usual = MODEL if provider == "anthropic" else f"the usual model of {provider}"
    return str(given.model or settings.get("model", usual))


def folder_name(path: str) -> str:
    """A folder as a person writes it."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
