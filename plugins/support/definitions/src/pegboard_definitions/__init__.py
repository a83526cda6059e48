"""Files that define agents, skills and commands, and the folders of plugins that bring them."""

from pegboard_definitions.locations import markdown_files, project_folders
from pegboard_definitions.markdown import (
    FaultError,
    Markdown,
    NoFieldsError,
    read_markdown,
    split_names,
    unseen,
)
from pegboard_definitions.plugin_folders import PluginFolder, plugin_folders
from pegboard_definitions.plugin_layers import with_plugins

__all__ = [
    "FaultError",
    "Markdown",
    "NoFieldsError",
    "PluginFolder",
    "markdown_files",
    "plugin_folders",
    "project_folders",
    "read_markdown",
    "split_names",
    "unseen",
    "with_plugins",
]
