"""The Glob tool."""

from pegboard_glob.glob import Glob, GlobInput, GlobOutput, register_tools

__all__ = ["Glob", "GlobInput", "GlobOutput", "register_tools"]
