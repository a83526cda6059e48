"""The settings that a distribution declares, with the plugins that keep what they promise.

The entry point group `pegboard.settings` names the package with the `pegboard.toml`. Nothing of it is imported.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pegboard.errors import PluginError
from pegboard.plugins.builtin import normalise
from pegboard.reserved import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_settings.records import SettingRecord

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

FILE = "pegboard.toml"
CORE = "pegboard-core"


def read_declaration(
    path: str, dist: str, plugins: Sequence[str], *, own: bool
) -> tuple[dict[str, SettingRecord], dict[str, tuple[str, Any]]]:
    """The declared settings and the keys that are known to be unused; `PluginError` says what is wrong.

    `plugins` are the entry points of the distribution, `own` says whether it is one of Pegboard's.
    """
    from pegboard_settings import declarations

    try:
        made, not_used = declarations.read_declaration(path, normalise(dist), None if own else NAMESPACES)
    except declarations.DeclarationError as error:
        raise PluginError(str(error), kind="bad-settings") from None
    for record in made.values():
        if record.get("guard"):
            record["plugins"] = [entry for entry in plugins if entry.startswith("policy.")] or list(plugins)
    return made, not_used


def read_core() -> dict[str, SettingRecord]:
    """The settings of the core itself."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return read_declaration(os.path.join(home, FILE), CORE, (), own=True)[0]


def declaration_file(package: str, places: Sequence[str]) -> str:
    """Where the `pegboard.toml` of a package is."""
    return find_file(os.path.join(*package.split("."), FILE), package, places)


def find_file(relative: str, package: str, places: Sequence[str]) -> str:
    """Where a file of a package is, or would be. It is looked for on disk; nothing of the package is imported."""
    for place in places:
        path = os.path.join(place, relative)
        if place and os.path.isfile(path):
            return path
    return _beside_the_package(package, relative) or os.path.join(places[0], relative)


def _beside_the_package(package: str, relative: str) -> str:
    """The file of an editable project with a layout of its own; finding a top-level package imports nothing."""
    from importlib.util import find_spec  # Rarely needed.

    try:
        spec = find_spec(package.partition(".")[0])
    except (ImportError, ValueError):
        return ""
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(os.path.dirname(folder), relative)
        if os.path.isfile(path):
            return path
    return ""
