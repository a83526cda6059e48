"""What the commands share: their common options."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager

from pegboard.wording import listed
from pegboard_cli.given_settings import settings_at as settings_at
from pegboard_cli.given_settings import settings_for as settings_for
from pegboard_cli.given_settings import warn as warn
from pegboard_cli.given_settings import words as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pegboard import Board


PROVIDER = "the provider: anthropic, openai or another that is installed"
MODES = "default, plan, dontAsk; with pegboard-rules also acceptEdits, auto, bypassPermissions"


def is_mode(name: str | None, board: Board) -> bool:
    """Whether this is a permission mode of the board; if it is not, say so."""
    if name is None or name in board.hooks.modes:
        return True
    sys.stderr.write(f"pegboard: there is no mode {name!r}. The modes here are {listed(board.hooks.modes)}.\n")
    return False


class _Parser(argparse.ArgumentParser):
    """A parser that can be caught in the moment in which it would read the words of a command."""

    catch: Callable[[argparse.ArgumentParser], BaseException] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the words, unless the parser itself is wanted."""
        if _Parser.catch:
            raise _Parser.catch(self)
        return super().parse_known_args(args, namespace)


@contextmanager
def capturing(catch: Callable[[argparse.ArgumentParser], BaseException]) -> Iterator[None]:
    """Inside, a command that is run raises `catch(parser)` once its options are known."""
    _Parser.catch = catch
    try:
        yield
    finally:
        _Parser.catch = None


def parser(name: str, what: str, examples: str) -> argparse.ArgumentParser:
    """A parser for one command, with the options that every command has."""
    made = _Parser(
        prog=f"pegboard {name}",
        description=what,
        epilog=f"examples:\n{examples}",
        formatter_class=_wide,
        allow_abbrev=False,
    )
    group = made.add_argument_group("which tools to use")
    group.add_argument("--only", action="append", metavar="FAMILIES", help="use only these families (comma-separated)")
    group.add_argument("--no-family", action="append", metavar="FAMILY", help="switch a family off")
    group.add_argument("--no-tool", action="append", metavar="TOOL", help="switch a tool off")
    group.add_argument("--settings", metavar="FILE", help="an additional settings file")
    group.add_argument("--plugin-dir", action="append", metavar="DIR", help="use the plugin in this folder")
    group.add_argument("--mcp-config", action="append", metavar="FILE", help="more MCP servers: a file or JSON")
    made.add_argument("--cwd", metavar="DIR", help="work in this folder")
    made.add_argument("--debug", action="store_true", help="show tracebacks")
    return made


def _wide(prog: str) -> argparse.HelpFormatter:
    """A formatter that knows its width: left to itself it imports shutil (3 ms) for every option that is added."""
    columns = os.environ.get("COLUMNS", "")
    return argparse.RawDescriptionHelpFormatter(prog, width=int(columns[:6]) - 2 if columns.isdecimal() else 100)


def listing(made: argparse.ArgumentParser) -> None:
    """The option that every listing has."""
    made.add_argument("--json", action="store_true", help="print JSON")


def trusting(made: argparse.ArgumentParser) -> None:
    """The option of commands that act on a project's settings."""
    made.add_argument("--trust", action="store_true", help="trust this project's settings for this command only")
