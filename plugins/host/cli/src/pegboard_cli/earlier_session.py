"""Go on with an earlier session: which one, as a fork or itself, and where one was."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import PegboardError
from pegboard.settings import state_dir
from pegboard.wording import counted
from pegboard_cli import output
from pegboard_session.store import TranscriptStore

if TYPE_CHECKING:
    import argparse

    from pegboard import Settings
    from pegboard_session import Restored

LONGEST = 400
"""How many characters of the last answer are shown."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="continue a session (default: like --continue)"
    )
    parser.add_argument("--continue", action="store_true", dest="go_on", help="continue this folder's last session")
    parser.add_argument("--fork", action="store_true", help="with --resume or --continue: leave that session as it is")


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Sort out what the words around the options mean."""
    if given.resume and given.prompt is None and not set(given.resume) <= set("0123456789abcdef"):
        given.prompt, given.resume = given.resume, ""  # `--resume "And now?"`: a prompt, not an id.
    if given.go_on:
        if given.resume:
            parser.error("--continue takes the last session of this folder; --resume takes an id. Give one of them")
        given.resume = ""
    if given.fork and given.resume is None:
        parser.error("--fork needs --resume or --continue")


def store() -> TranscriptStore | None:
    """Where transcripts are kept; None where there is no place for them."""
    state = state_dir(os.environ)
    return TranscriptStore(Path(state, "transcripts")) if state else None


def find_session(beginning: str, settings: Settings | None = None) -> Path:
    """The transcript whose id begins like this; for nothing, the last one of the folder that settings are for."""
    kept = store()
    if kept is None:
        raise PegboardError("Sessions cannot be saved: there is no home directory. Set HOME or XDG_STATE_HOME.")
    return kept.find(beginning) if beginning or settings is None else kept.latest(settings.cwd)


def show_where(path: Path, restored: Restored, *, is_fork: bool) -> None:
    """Say on stderr which session goes on, and how far it was."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
    verb = "Continuing a copy of" if is_fork else "Continuing"
    lines = [f"{verb} session {path.stem[:12]}: {counted(restored.prompts, 'prompt')}, last used {when}"]
    if restored.last_prompt:
        lines.append(f"  > {shortened(restored.last_prompt)}")
    if answer := last_answer(restored):
        lines.append(f"  {shortened(answer)}")
    sys.stderr.write("".join(f"{output.visible(line)}\n" for line in lines))


def last_answer(restored: Restored) -> str:
    """What the model said last."""
    for message in reversed(restored.messages):
        words = [block["text"] for block in message["content"] if block["type"] == "text"]
        if message["role"] == "assistant" and words:
            return str(words[-1])
    return ""


def shortened(text: str) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
