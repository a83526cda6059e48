"""Read and write the files in which servers are described, with all else that they hold left alone."""

from __future__ import annotations

import json
import os
from typing import Any

from pegboard import Settings, SettingsError
from pegboard.settings import FOLDER, home
from pegboard_mcp.reading import FILE
from pegboard_trust import replace_file

SCOPES = ("user", "project")


def file_of(scope: str, settings: Settings) -> str:
    """The file of the person, or of the project."""
    if scope == "project":
        return os.path.join(settings.root, FILE)
    at_home = home(os.environ)
    if not at_home:
        raise SettingsError("HOME is unset, so there is no place for your settings.", source="mcp")
    return os.path.join(at_home, FOLDER, "settings.json")


def read(path: str) -> dict[str, Any]:
    """The whole file; empty if there is none."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read() or b"{}")
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SettingsError(f"It is not valid JSON: {error}. Correct it first.", source=path) from None
    except OSError as error:
        raise SettingsError(f"It cannot be read: {error.strerror}.", source=path) from None
    if not isinstance(found, dict):
        raise SettingsError("It must be a JSON object.", source=path)
    return found


def servers_in(whole: dict[str, Any], path: str) -> dict[str, Any]:
    """The table of servers in a file, made if it is missing. A project's file may have no wrapper."""
    if "mcpServers" not in whole and os.path.basename(path) == FILE and whole:
        return whole
    table: dict[str, Any] = whole.setdefault("mcpServers", {})
    return table


def write(path: str, whole: dict[str, Any]) -> None:
    """Replace the file in one step; its permissions stay."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
        replace_file(path, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode(), mode)
    except OSError as error:
        raise SettingsError(f"It cannot be written: {error.strerror}.", source=path) from None
