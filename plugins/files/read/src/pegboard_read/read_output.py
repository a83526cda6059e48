"""What Read returns: six kinds, distinguished by `type`.

Attributes are snake_case; the JSON uses the documented names.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PrivateAttr

from pegboard_files.records import Record


class TextOutput(Record):
    type: Literal["text"] = "text"
    file_path: str
    content: str
    num_lines: int
    start_line: int
    total_lines: int | None
    """None for a file so large that its lines were not counted."""
    truncated_by_token_cap: bool = False
    partial: bool = False
    """True when `content` is not the whole file."""
    cut_lines: int = 0
    """How many very long lines are cut."""
    encoding: str = "utf-8"
    newline: str = "\n"
    is_directory: bool = False
    note: str = ""
    _split: tuple[str, list[str]] | None = PrivateAttr(default=None)

    def remember_lines(self, lines: list[str]) -> None:
        """Cache the lines of `content` for formatting; the cache is dropped when `content` changes."""
        self._split = (self.content, lines)

    @property
    def lines(self) -> list[str]:
        """The lines of `content`."""
        if self._split is not None and self._split[0] is self.content:
            return self._split[1]
        return self.content.split("\n")


class Dimensions(Record):
    original_width: int
    original_height: int
    display_width: int
    display_height: int


class ImageFile(Record):
    type: Literal["image"] = "image"
    file_path: str
    base64: str = Field(repr=False)
    media_type: str
    original_size: int
    dimensions: Dimensions
    frames: int = 1


class Cell(Record):
    number: int
    id: str = ""
    cell_type: str
    source: str
    execution_count: int | None = None
    outputs: list[str] = Field(default_factory=list)
    images: list[str] = Field(default=[], repr=False)
    """Images among the outputs, as base64, each in a form that a provider accepts."""
    image_types: list[str] = Field(default_factory=list)
    cut: bool = False


class NotebookFile(Record):
    type: Literal["notebook"] = "notebook"
    file_path: str
    cells: list[Cell]
    start_cell: int
    total_cells: int
    language: str = ""


class PdfFile(Record):
    type: Literal["pdf"] = "pdf"
    file_path: str
    original_size: int
    total_pages: int
    first_page: int
    pages: list[str]
    """The text layer of each page shown."""
    last_wanted: int
    """The last requested page; fewer may have fitted."""


class PagePicture(Record):
    page: int
    media_type: str
    base64: str = Field(repr=False)


class PartsFile(Record):
    type: Literal["parts"] = "parts"
    file_path: str
    original_size: int
    total_pages: int
    count: int
    output_dir: str
    pages: list[PagePicture]


class UnchangedFile(Record):
    type: Literal["file_unchanged"] = "file_unchanged"
    file_path: str


ReadOutput: TypeAlias = Annotated[
    TextOutput | ImageFile | NotebookFile | PdfFile | PartsFile | UnchangedFile, Field(discriminator="type")
]
