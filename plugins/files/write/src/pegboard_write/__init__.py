"""The Write tool."""

from pegboard_write.write import Write, WriteInput, register_tools
from pegboard_write.write_output import WriteOutput

__all__ = ["Write", "WriteInput", "WriteOutput", "register_tools"]
