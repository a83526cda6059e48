"""What is piped into `pegboard run`: the prompt itself, or text that is added to the prompt."""

from __future__ import annotations

import os
import stat
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

LARGEST = 1_000_000
"""How many bytes of standard input fit into a prompt. More would not fit into the window of most models."""
PATIENCE = 3.0
"""Seconds after which a person is told what the command waits for."""


def the_prompt(parser: argparse.ArgumentParser, given: argparse.Namespace) -> str | None:
    """The prompt with what is piped in; None means a conversation on a terminal."""
    if given.prompt is None:
        return None if sys.stdin.isatty() else _read(parser).strip()
    # A space before a slash says that it is no command.
    words = str(given.prompt).rstrip()
    piped = _read(parser) if words and _is_piped() else ""
    return framed(words, piped) if piped.strip() else words


def framed(prompt: str, piped: str) -> str:
    """A prompt with piped text below it, between tags that the text itself does not contain."""
    tag, number = "stdin", 1
    while f"<{tag}>" in piped or f"</{tag}>" in piped:
        number += 1
        tag = f"stdin-{number}"
    end = "" if piped.endswith("\n") else "\n"
    return f"{prompt}\n\n<{tag}>\n{piped}{end}</{tag}>"


def _is_piped() -> bool:
    """Whether there is a pipe or a file to read. A terminal belongs to the person, and /dev/null has nothing to say."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # No standard input, or one that is no file.
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind)


def _read(parser: argparse.ArgumentParser) -> str:
    reminder = threading.Timer(PATIENCE, _say_what_for)
    reminder.daemon = True
    reminder.start()
    try:
        read = sys.stdin.buffer.read(LARGEST + 1)
    finally:
        reminder.cancel()
    if len(read) > LARGEST:
        size = f"standard input has more than {LARGEST:,} bytes, the limit for a prompt"
        parser.error(f"{size}. Save it to a file and name the file in the prompt")
    return read.decode("utf-8", "replace")


def _say_what_for() -> None:
    sys.stderr.write("pegboard: waiting for the end of standard input. If there is none, add </dev/null.\n")
    sys.stderr.flush()
