"""The Read tool."""

from pegboard_read.outputs import (
    Cell,
    ImageFile,
    NotebookFile,
    PartsFile,
    PdfFile,
    ReadOutput,
    TextFile,
    UnchangedFile,
)
from pegboard_read.read import Read, ReadInput, register_tools

__all__ = [
    "Cell",
    "ImageFile",
    "NotebookFile",
    "PartsFile",
    "PdfFile",
    "Read",
    "ReadInput",
    "ReadOutput",
    "TextFile",
    "UnchangedFile",
    "register_tools",
]
