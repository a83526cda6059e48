"""The Grep tool."""

from pegboard_grep.grep import Grep, GrepInput, register_tools
from pegboard_grep.grep_output import GrepOutput

__all__ = ["Grep", "GrepInput", "GrepOutput", "register_tools"]
