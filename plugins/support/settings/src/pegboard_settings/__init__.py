"""Layered settings that know where each value comes from, and the folders in which things are kept.

`load()` reads every layer (baked, managed, command line, environment, local, project, user) and answers with
`Settings`. Nothing here imports more than `json` and `os`: listing tools must stay cheap.
"""

from pegboard_settings.errors import PegboardError, SettingsError
from pegboard_settings.keys import Key, Keys
from pegboard_settings.layers import FROM_REPOSITORY, OF_THE_OWNER, ORDER, Layer, Notice, Settings, with_filters
from pegboard_settings.locations import (
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
from pegboard_settings.parsing import lines_of, parse
from pegboard_settings.reading import load, read_values, working_directory
from pegboard_settings.rules import bare_name, name_matches, rule_text, split_rule

__all__ = ["FROM_REPOSITORY", "OF_THE_OWNER", "ORDER", "Key", "Keys", "Layer", "Notice", "PegboardError", "Settings"]
__all__ += ["BAKED", "FOLDER", "FOLDERS", "MANAGED", "SettingsError", "baked_file", "cache_dir", "home"]
__all__ += ["bare_name", "lines_of", "load", "name_matches", "parse", "private_folder", "project_root", "read_values"]
__all__ += ["rule_text", "split_rule", "state_dir", "with_filters", "working_directory"]
