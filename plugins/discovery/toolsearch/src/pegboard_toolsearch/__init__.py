"""The ToolSearch tool, and the index of tools behind it."""

from pegboard_toolsearch.toolsearch import ToolSearch, ToolSearchInput, register_services, register_tools

__all__ = ["ToolSearch", "ToolSearchInput", "register_services", "register_tools"]
