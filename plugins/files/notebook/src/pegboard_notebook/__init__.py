"""The NotebookEdit tool."""

from pegboard_notebook.notebook_edit import NotebookEdit, NotebookEditInput, NotebookEditOutput, register_tools

__all__ = ["NotebookEdit", "NotebookEditInput", "NotebookEditOutput", "register_tools"]
