"""Which language servers there are: the person's, those of a trusted project, and the built-in ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard import Notice, Settings
from pegboard.settings import FROM_REPOSITORY
from pegboard.wording import listed
from pegboard_lsp.known_servers import KNOWN

SETTING = "lsp.servers"
FILES = (".lsp.json", ".github/lsp.json")
"""Files of a project that describe servers, by their place below its root."""
MOST_BYTES = 1_000_000
FIELDS = {
    **dict.fromkeys(("command", "workspaceFolder"), str),
    "args": list,
    **dict.fromkeys(("extensionToLanguage", "fileExtensions", "env"), dict),
    **dict.fromkeys(("initializationOptions", "settings"), object),
    **dict.fromkeys(("startupTimeout", "shutdownTimeout", "maxRestarts"), int),
    **dict.fromkeys(("restartOnCrash", "diagnostics", "enabled"), bool),
    "transport": str,
    "loggingConfig": object,
}
"""The fields of an entry and their types. `loggingConfig` is accepted and not used."""


@dataclass(frozen=True)
class ServerConfig:
    """A server that may be started."""

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    """The language of each extension, such as `.py`."""
    source: str = ""
    """The file that describes it; empty for a built-in one."""
    from_project: bool = False
    install: str = ""
    runs_project: str = ""
    lint_only: bool = False
    caches: bool = False
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Any = None
    """What is sent with `initialize`."""
    settings: Any = None
    """What it gets when it asks for its configuration."""
    start_seconds: float | None = None
    stop_seconds: float = 2.0
    restarts: int = 3
    """How often in a row it is started again after it has ended by itself."""
    diagnostics: bool = True
    """Whether its diagnostics are added to edits."""


@dataclass(frozen=True)
class FoundServers:
    """All servers in the order in which they are chosen, and what a person should know about other entries."""

    servers: tuple[ServerConfig, ...]
    notices: tuple[Notice, ...] = ()


def find_servers(settings: Settings) -> FoundServers:
    """Every server that may be used here. The person's entry of a name replaces the project's and the built-in one."""
    found: dict[str, ServerConfig | None] = {}
    notices: list[Notice] = []
    for name, entry, source, from_project in _entries(settings, notices):
        if name in found:
            continue
        wrong = _problem(name, entry)
        if wrong:
            notices.append(Notice(f"{source}: the language server {name!r}", wrong))
        elif entry.get("enabled") is False:
            found[name] = None
        else:
            found[name] = _config(name, entry, source, from_project=from_project)
    for known in KNOWN:
        if known.name not in found:
            found[known.name] = ServerConfig(
                known.name,
                known.command,
                known.languages,
                install=known.install,
                runs_project=known.runs_project,
                lint_only=known.lint_only,
                caches=known.caches,
            )
    return FoundServers(tuple(one for one in found.values() if one is not None), tuple(notices))


def _entries(settings: Settings, notices: list[Notice]) -> Iterator[tuple[str, Any, str, bool]]:
    """Each entry with its source and whether a repository brings it: those of the person come first."""
    holders = settings.holders(SETTING)
    for layer in sorted(holders, key=lambda holder: holder.name in FROM_REPOSITORY):
        for name, entry in layer.values[SETTING].items():
            yield name, entry, layer.source_of(SETTING), layer.name in FROM_REPOSITORY
    for file in FILES:
        path = os.path.join(settings.root, file)
        if not os.path.lexists(path):
            continue
        if not settings.trusted:
            notices.append(
                Notice(path, "Its language servers are not used until you trust the project: pegboard trust.")
            )
            continue
        for name, entry in _read(path, notices).items():
            yield name, entry, path, True


def _read(path: str, notices: list[Notice]) -> dict[str, Any]:
    """The servers of a file by name, with or without the wrapper `lspServers`."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        found = json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        notices.append(Notice(path, f"It cannot be read: {error.strerror}."))
        return {}
    except (ValueError, RecursionError) as error:
        notices.append(Notice(path, f"It is not valid JSON: {error}."))
        return {}
    found = found.get("lspServers", found) if isinstance(found, dict) else found
    if isinstance(found, dict):
        return {name: entry for name, entry in found.items() if not name.startswith("$")}
    notices.append(Notice(path, 'It must be an object such as {"zls": {"command": "zls", …}}.'))
    return {}


def _problem(name: str, entry: Any) -> str:
    """What is wrong with an entry, as a sentence."""
    if not isinstance(entry, dict):
        return "It must be an object with a command."
    if entry.get("enabled") is False:
        return ""
    for key, value in entry.items():
        if key not in FIELDS:
            return f"It has no field {key!r}. The fields are {listed(sorted(FIELDS))}."
        if value is not None and not isinstance(value, FIELDS[key]):
            return f"{key} must be of the type {FIELDS[key].__name__}, got {type(value).__name__}."
    if not entry.get("command"):
        return "It needs a command."
    if entry.get("transport", "stdio") != "stdio":
        return "Only the transport stdio is supported."
    texts = [entry["command"], *(entry.get("args") or ()), *(entry.get("env") or {}).values()]
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        return "command, args and env must contain texts."
    if any("${" in text for text in texts):
        return "Variables such as ${HOME} are not filled in. Write the value."
    languages = _languages(entry)
    if not languages or not all(key.startswith(".") and isinstance(value, str) for key, value in languages.items()):
        return 'It needs extensionToLanguage, such as {".zig": "zig"}.'
    return ""


def _languages(entry: Mapping[str, Any]) -> dict[str, Any]:
    return entry.get("extensionToLanguage") or entry.get("fileExtensions") or {}


def _config(name: str, entry: Mapping[str, Any], source: str, *, from_project: bool) -> ServerConfig:
    start, stop = entry.get("startupTimeout"), entry.get("shutdownTimeout")
    restarts = entry.get("maxRestarts")
    return ServerConfig(
        name,
        (entry["command"], *(entry.get("args") or ())),
        {extension.lower(): language for extension, language in _languages(entry).items()},
        source=source,
        from_project=from_project,
        caches=True,
        env=entry.get("env") or {},
        options=entry.get("initializationOptions"),
        settings=entry.get("settings"),
        start_seconds=start / 1000 if start else None,
        stop_seconds=min(stop / 1000, 10.0) if stop is not None else 2.0,
        restarts=0 if entry.get("restartOnCrash") is False else 3 if restarts is None else restarts,
        diagnostics=entry.get("diagnostics") is not False,
    )
