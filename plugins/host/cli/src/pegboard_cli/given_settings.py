"""Settings with the command line as a layer, and the command lines that need no parser."""

from __future__ import annotations

import os
import sys

from pegboard import Settings
from pegboard.settings import load, project_root, working_directory
from pegboard_cli import output
from pegboard_trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from pegboard import PegboardError


class Switches:
    """What a parser would find where only switches are given.

    To import argparse, to make a parser and to run it takes 12 ms, which is most of what bare Python needs to start.
    """

    cwd = settings = only = no_family = no_tool = plugin_dir = mcp_config = None

    def __init__(self, **given: bool) -> None:
        vars(self).update(given)


def switches(words: Sequence[str], *known: str) -> Switches | None:
    """Which of these switches are given, or None where there are other words: those are for the parser."""
    given = {name: f"--{name}" in words for name in known}
    return Switches(**given) if all(word[2:] in given and word[:2] == "--" for word in words) else None


def settings_for(options: argparse.Namespace | Switches, **cli: Any) -> Settings:
    """Settings with the options of the command line as their layer."""
    if options.cwd and not os.path.isdir(options.cwd):
        import argparse  # To say it as a parser does.

        made = argparse.ArgumentParser(prog="pegboard")
        made.error(f"--cwd: there is no folder {options.cwd!r}")
    return settings_at(options.cwd, options, **cli)


def settings_at(folder: str | None, options: argparse.Namespace | Switches, **cli: Any) -> Settings:
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
