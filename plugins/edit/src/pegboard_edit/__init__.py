"""The Edit tool."""

from pegboard_edit.edit import Edit, EditInput, OneEdit, register_tools
from pegboard_edit.outputs import EditOutput, PatchHunk

__all__ = ["Edit", "EditInput", "EditOutput", "OneEdit", "PatchHunk", "register_tools"]
