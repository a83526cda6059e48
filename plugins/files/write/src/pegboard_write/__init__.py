"""The Write tool."""

from pegboard_write.outputs import WriteOutput
from pegboard_write.write import Write, WriteInput, register_tools

__all__ = ["Write", "WriteInput", "WriteOutput", "register_tools"]
