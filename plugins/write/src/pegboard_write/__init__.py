"""The Write tool."""

from pegboard_write.write import Write, WriteInput, WriteOutput, register_tools

__all__ = ["Write", "WriteInput", "WriteOutput", "register_tools"]
