"""What the commands share: their common options, and settings with the command line as a layer."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager

from pegboard import Settings
from pegboard.settings import load, project_root, working_directory
from pegboard.wording import listed
from pegboard_cli import output
from pegboard_trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from pegboard import Board, PegboardError


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


def settings_for(options: argparse.Namespace, **cli: Any) -> Settings:
    """Settings with the options of the command line as their layer."""
    if options.cwd and not os.path.isdir(options.cwd):
        made = argparse.ArgumentParser(prog="pegboard")
        made.error(f"--cwd: there is no folder {options.cwd!r}")
    return settings_at(options.cwd, options, **cli)


def settings_at(folder: str | None, options: argparse.Namespace, **cli: Any) -> Settings:
    """Settings as they are in a folder. Whether its project is trusted is known before any file of it is read."""
    only = [words(given) for given in options.only or ()]
    disable = words(",".join([*(options.no_family or ()), *(options.no_tool or ())]))
    if disable:
        cli["disable"] = disable
    if only:
        cli["only"] = [word for word in only[0] if all(word in other for other in only[1:])]
    if folders := getattr(options, "plugin_dir", None):
        cli["pluginDirs"] = [os.path.abspath(name) for name in folders]
    if options.mcp_config:
        cli["mcp"] = {"config": options.mcp_config}
    store = Trust.of()
    root = project_root(os.path.abspath(folder or working_directory()), os.environ)
    trusted = getattr(options, "trust", False) or store.trusts(root)
    settings = load(folder, cli=cli, settings_file=options.settings, trusted=trusted, vouches=store.vouches)
    if not settings.holders("pluginDirs"):
        return settings
    from pegboard_definitions import with_plugins  # Few people have plugins on disk.

    return with_plugins(settings)


def words(text: str) -> list[str]:
    """`a, b` as a list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def warn(settings: Settings, notices: list[Any] | None = None, problems: Sequence[PegboardError] = ()) -> None:
    """Say on stderr what is wrong or odd; commands that only list things continue."""
    seen = [f"error: {problem}" for problem in (*settings.problems, *problems)]
    seen += [f"warning: {notice}" for notice in (settings.notices if notices is None else notices)]
    said = {str(problem) for problem in problems}
    for line in dict.fromkeys(seen):
        if line.removeprefix("warning: ") in said:
            continue  # It is an error as well.
        sys.stderr.write(f"pegboard: {output.visible(line)}\n")
