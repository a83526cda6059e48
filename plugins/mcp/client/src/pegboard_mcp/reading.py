"""Find the servers: those of the owner, of the command line, of the person, and of a trusted project."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pegboard import Notice, Settings
from pegboard.settings import FROM_REPOSITORY
from pegboard.wording import counted
from pegboard_mcp.config import ServerConfig, problems, unknown_fields, without_nothing
from pegboard_mcp.limits import refused_by_policy
from pegboard_mcp.names import poses, server_part, skeleton

FILE = ".mcp.json"
MOST_BYTES = 1_000_000
ORDER = ("baked", "managed", "cli", "env", "user", "local", "project")
"""Whose entry counts where two have one name. The person's comes before the project's: rules name servers, and a
project must not put another server behind a name that the person has made rules for."""

Found = Iterator[tuple[str, Any, str, str]]


def find_servers(settings: Settings, env: Mapping[str, str]) -> tuple[list[ServerConfig], list[Notice]]:
    """Every server that may be used here, and what a person should know about the others."""
    notices: list[Notice] = []
    servers, wrong = check_servers(_entries(settings, env, notices), settings, env)
    return servers, [*notices, *wrong]


def check_servers(
    entries: Iterable[tuple[str, Any, str, str]], settings: Settings, env: Mapping[str, str]
) -> tuple[list[ServerConfig], list[Notice]]:
    """The servers among these entries that may be used, and why the others may not."""
    servers: dict[str, ServerConfig] = {}
    looks: dict[str, str] = {}
    notices: list[Notice] = []
    for name, given, layer, source in entries:
        entry = without_nothing(given)
        where = f"{source}: the MCP server {name!r}"
        wrong = next(problems(entry), "") or _name_problem(name, looks)
        if wrong:
            notices.append(Notice(where, wrong))
            continue
        if name in servers:
            if servers[name].entry != entry:
                notices.append(Notice(where, f"It is not used: {servers[name].source} has one of this name."))
            continue
        if extra := unknown_fields(entry):
            notices.append(Notice(where, f"It has fields that have no meaning here: {', '.join(extra)}."))
        scope = os.path.realpath(settings.root) if layer in FROM_REPOSITORY else ""
        made = ServerConfig(name, entry, layer, source, scope, env)
        if reason := refused_by_policy(made, settings) or _missed_by_rule(name, settings):
            notices.append(Notice(where, reason))
            continue
        servers[name] = made
        looks[skeleton(server_part(name))] = name
    return list(servers.values()), notices


def _name_problem(name: str, looks: Mapping[str, str]) -> str:
    if poses(name):
        return f"Its name {name!a} is spelled with characters that look like others. Rename it."
    part = server_part(name)
    if not part:
        return "Its name has no letter or digit. Rename it."
    if len(part) > 40:
        return f"Its name has {len(part)} characters; use at most 40, to leave room for the names of its tools."
    alike = looks.get(skeleton(part))
    if alike and alike != name:
        return f"Its name looks like that of the server {alike!r}. Rename one of the two."
    return ""


def _missed_by_rule(name: str, settings: Settings) -> str:
    """A rule that denies or asks, spelled with a name that tools do not have: it would silently protect nothing."""
    part = server_part(name)
    if part == name:
        return ""
    for key in ("permissions.deny", "permissions.ask"):
        for rule, layer in settings.items(key):
            if re.match(rf"mcp__{re.escape(name)}(?![A-Za-z0-9])", rule):
                where = layer.source_of(key)
                return (
                    f"Its tools are called mcp__{part}__…, which the rule {rule!r} in {where} misses. Correct the rule."
                )
    return ""


def _entries(settings: Settings, env: Mapping[str, str], notices: list[Notice]) -> Found:
    by_layer = {layer.name: layer for layer in settings.holders("mcpServers")}
    for name in ORDER:
        if layer := by_layer.get(name):
            for server, entry in layer.values["mcpServers"].items():
                yield server, entry, name, layer.source_of("mcpServers")
        for item, holder in settings.items("mcp.config"):
            if holder.name == name:
                yield from _of_option(item, settings, name, notices)
    yield from _of_project(settings, notices)


def _of_option(item: str, settings: Settings, layer: str, notices: list[Notice]) -> Found:
    """What `--mcp-config` names: a file, or JSON."""
    is_json = item.lstrip().startswith("{")
    path = os.path.join(settings.cwd, os.path.expanduser(item))
    found = parse(item, "--mcp-config", notices) if is_json else read_file(path, notices, must=True)
    for name, entry in found.items():
        yield name, entry, layer, "--mcp-config" if is_json else path


def _of_project(settings: Settings, notices: list[Notice]) -> Found:
    path = os.path.join(settings.root, FILE)
    if not os.path.lexists(path):
        return
    if not settings.trusted:
        reason = "Its servers are not started until you trust the project: pegboard trust."
        notices.append(Notice(path, reason))
        return
    for name, entry in read_file(path, notices).items():
        yield name, entry, "project", path


def read_file(path: str, notices: list[Notice], *, must: bool = False) -> dict[str, Any]:
    """The servers of a file by name. A file that cannot be used is a notice, and has none."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        if must:
            notices.append(Notice(path, "There is no such file."))
        return {}
    except OSError as error:
        notices.append(Notice(path, f"It cannot be read: {error.strerror}."))
        return {}
    if len(raw) > MOST_BYTES:
        notices.append(Notice(path, f"It has more than {counted(MOST_BYTES, 'byte')}, so it is not read."))
        return {}
    return parse(raw.decode("utf-8-sig", "replace"), path, notices)


def parse(text: str, source: str, notices: list[Notice]) -> dict[str, Any]:
    """The servers of a text by name, with or without the wrapper `mcpServers`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        notices.append(Notice(source, f"It is not valid JSON: {error}."))
        return {}
    if isinstance(found, dict):
        for wrapper in ("mcpServers", "servers"):
            if isinstance(found.get(wrapper), dict) and "command" not in found and "url" not in found:
                return dict(found[wrapper])
        bare = {name: entry for name, entry in found.items() if not name.startswith("$")}
        if all(isinstance(entry, dict) for entry in bare.values()):
            return bare
    notices.append(Notice(source, 'It must be an object such as {"mcpServers": {"name": {"command": "…"}}}.'))
    return {}
