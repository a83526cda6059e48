"""The Read tool."""

from pegboard_read.read import Read, ReadInput, register_tools
from pegboard_read.read_output import (
    Cell,
    ImageFile,
    NotebookFile,
    PartsFile,
    PdfFile,
    ReadOutput,
    TextOutput,
    UnchangedFile,
)

__all__ = [
    "Cell",
    "ImageFile",
    "NotebookFile",
    "PartsFile",
    "PdfFile",
    "Read",
    "ReadInput",
    "ReadOutput",
    "TextOutput",
    "UnchangedFile",
    "register_tools",
]
