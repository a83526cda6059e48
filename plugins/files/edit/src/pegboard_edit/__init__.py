"""The Edit tool."""

from pegboard_edit.edit import Edit, EditInput, OneEdit, register_tools
from pegboard_edit.edit_output import EditOutput
from pegboard_files.records import PatchHunk

__all__ = ["Edit", "EditInput", "EditOutput", "OneEdit", "PatchHunk", "register_tools"]
