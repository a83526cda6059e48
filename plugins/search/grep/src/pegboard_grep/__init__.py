"""The Grep tool."""

from pegboard_grep.grep import Grep, GrepInput, register_tools
from pegboard_grep.paging import GrepOutput

__all__ = ["Grep", "GrepInput", "GrepOutput", "register_tools"]
