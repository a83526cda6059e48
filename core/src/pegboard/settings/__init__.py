"""Layered settings that know where each value comes from, and the folders in which things are kept.

`load()` reads every layer (baked, managed, command line, environment, local, project, user) and answers with
`Settings`. Nothing here imports more than `json` and `os`: listing tools must stay cheap.
"""

from pegboard.settings.keys import Key, Keys, installed_keys
from pegboard.settings.layers import FROM_REPOSITORY, Layer, Notice, Settings
from pegboard.settings.locations import (
    BAKED,
    FOLDER,
    FOLDERS,
    MANAGED,
    baked_file,
    cache_dir,
    home,
    private_folder,
    project_root,
    state_dir,
)
from pegboard.settings.parsing import lines_of, parse
from pegboard.settings.reading import load, read_values, working_directory

__all__ = ["FROM_REPOSITORY", "Key", "Keys", "Layer", "Notice", "Settings", "installed_keys", "lines_of", "load"]
__all__ += ["BAKED", "FOLDER", "FOLDERS", "MANAGED", "baked_file", "cache_dir", "home", "private_folder"]
__all__ += ["parse", "project_root", "read_values", "state_dir", "working_directory"]
