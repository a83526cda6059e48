"""The Read tool."""

from pegboard_read.read import Read, ReadInput, ReadOutput, register_tools

__all__ = ["Read", "ReadInput", "ReadOutput", "register_tools"]
