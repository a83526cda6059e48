"""Layered settings that know where each value comes from, and the folders in which things are kept.

`load()` reads every layer (baked, managed, command line, environment, local, project, user) and answers with
`Settings`. The library `pegboard-settings` does the work; here it learns which settings there are. Nothing here imports
more than `json` and `os`: listing tools must stay cheap.
"""

from __future__ import annotations

import pegboard_settings
from pegboard.reserved import GUARDS, NAMESPACES
from pegboard_settings import (
    BAKED,
    FOLDER,
    FOLDERS,
    FROM_REPOSITORY,
    MANAGED,
    Key,
    Layer,
    Notice,
    Settings,
    baked_file,
    cache_dir,
    home,
    lines_of,
    load,
    parse,
    private_folder,
    project_root,
    read_values,
    state_dir,
    working_directory,
)

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_settings.records import DeclaredSettings

__all__ = ["FROM_REPOSITORY", "Key", "Keys", "Layer", "Notice", "Settings", "installed_keys", "lines_of", "load"]
__all__ += ["BAKED", "FOLDER", "FOLDERS", "MANAGED", "baked_file", "cache_dir", "home", "private_folder"]
__all__ += ["parse", "project_root", "read_values", "state_dir", "working_directory"]


class Keys(pegboard_settings.Keys):
    """Every setting that was declared, and those of the core. What promises protection is known in any case."""

    guards, namespaces = GUARDS, NAMESPACES

    def __init__(self, declared: DeclaredSettings | None = None) -> None:
        known: DeclaredSettings = declared or {"settings": {}, "not_used": {}, "faults": []}
        if "disable" not in known["settings"]:
            # From the core's own file: its settings hold even where the index cannot see the core.
            from pegboard.plugins.declarations import read_core

            known = {**known, "settings": read_core() | known["settings"]}
        super().__init__(known)


def installed_keys(env: Mapping[str, str] | None = None) -> Keys:
    """The settings of the core and of everything that is installed; nothing is imported to find them."""
    from pegboard.plugins.index import declared

    return Keys(declared(env))


Settings.find_keys = staticmethod(installed_keys)
