"""The options of `pegboard mcp serve`, and the settings that follow from them."""

from __future__ import annotations

import argparse
import ipaddress
import os
from pathlib import Path
from typing import Any

from pegboard import Settings
from pegboard.settings import load, project_root, working_directory
from pegboard_trust import Trust

EXAMPLES = """\
examples:
  pegboard mcp serve                               over standard input and output, for a client that starts it
  pegboard mcp serve --tools Read,Grep,Glob        only these tools
  pegboard mcp serve --allow 'Bash(npm test)'      no question for this command
  pegboard mcp serve --http 127.0.0.1:8931         over HTTP; the token is printed on standard error

Over HTTP every request needs the token: the value of PEGBOARD_MCP_TOKEN, a line of --token-file, or one that is made
for this run.
"""


def parse(words: list[str]) -> argparse.Namespace:
    """The options. What is wrong with them ends the process with a sentence."""
    made = argparse.ArgumentParser(
        prog="pegboard mcp serve",
        description="Serve the tools over MCP.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_tools(made)
    _add_permission(made)
    _add_http(made)
    given = made.parse_args(words)
    for option, folder in (("--cwd", given.cwd), *(("--add-dir", folder) for folder in given.add_dir or ())):
        if folder and not os.path.isdir(folder):
            made.error(f"{option}: there is no folder {folder!r}")
    only_http = (given.token_file, given.allow_host, given.allow_origin)
    if given.http is None and any(only_http):
        made.error("--token-file, --allow-host and --allow-origin need --http")
    if given.http is not None:
        try:
            given.http = address(given.http)
        except ValueError as error:
            made.error(f"--http: {error}")
    return given


def _add_tools(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("which tools to serve")
    group.add_argument("--tools", metavar="A,B", help="serve only these tools")
    group.add_argument("--exclude-tools", metavar="A,B", help="do not serve these tools")
    group.add_argument("--only", action="append", metavar="FAMILIES", help="use only these families (comma-separated)")
    group.add_argument("--no-family", action="append", metavar="FAMILY", help="switch a family off")
    group.add_argument("--no-tool", action="append", metavar="TOOL", help="switch a tool off")
    group.add_argument("--settings", metavar="FILE", help="an additional settings file")


def _add_permission(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("where they work and what they may do")
    group.add_argument("--cwd", metavar="DIR", help="work in this folder")
    group.add_argument("--add-dir", action="append", metavar="DIR", help="an additional working directory")
    group.add_argument("--allow", action="append", metavar="RULE", help="add an allow rule")
    group.add_argument("--deny", action="append", metavar="RULE", help="add a deny rule")
    modes = "default, plan, dontAsk; with pegboard-rules also acceptEdits, auto, bypassPermissions"
    group.add_argument("--permission-mode", metavar="M", help=modes)
    group.add_argument("--trust", action="store_true", help="trust this project's settings for this command only")


def _add_http(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("over HTTP")
    group.add_argument(
        "--http", metavar="HOST:PORT", help="listen here instead of on standard input; port 0 picks a free port"
    )
    group.add_argument(
        "--token-file", metavar="FILE", help="the accepted tokens, one per line; no one else may read it"
    )
    group.add_argument("--allow-host", action="append", metavar="HOST[:PORT]", help="another name of this server")
    group.add_argument("--allow-origin", action="append", metavar="ORIGIN", help="a web page that may call this server")
    made.add_argument("--debug", action="store_true", help="show tracebacks and what the protocol library logs")


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` as a pair; a bare port means loopback. `[::1]:80` is the way to write an IPv6 address."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else "127.0.0.1"
    if not port.isdecimal() or int(port) > 65_535 or not host:
        raise ValueError(f"expected HOST:PORT such as 127.0.0.1:8931, got {text!r}")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_of(given: argparse.Namespace) -> Settings:
    """Settings with the options as the layer of the command line."""
    store = Trust.of()
    root = project_root(os.path.abspath(given.cwd or working_directory()), os.environ)
    trusted = given.trust or store.trusts(root)
    return load(given.cwd, cli=_layer(given), settings_file=given.settings, trusted=trusted, vouches=store.vouches)


def _layer(given: argparse.Namespace) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if given.tools is not None:
        made["availableTools"] = _words(given.tools)
    if given.exclude_tools:
        made["excludedTools"] = _words(given.exclude_tools)
    if disable := _words(",".join([*(given.no_family or ()), *(given.no_tool or ())])):
        made["disable"] = disable
    if given.only:
        first, *others = [_words(words) for words in given.only]
        made["only"] = [word for word in first if all(word in other for other in others)]
    if rules := {kind: value for kind, value in (("allow", given.allow), ("deny", given.deny)) if value}:
        made["permissions"] = rules
    return made


def roots_of(given: argparse.Namespace) -> tuple[Path, ...]:
    """The additional working directories."""
    return tuple(Path(folder).resolve() for folder in given.add_dir or ())


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
