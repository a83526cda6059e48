"""What Read returns: six kinds, told apart by `type`. Attributes are snake_case, JSON has the documented names."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel


class Record(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class TextFile(Record):
    type: Literal["text"] = "text"
    file_path: str
    content: str
    num_lines: int
    start_line: int
    total_lines: int | None
    """None for a file so large that its lines were not counted."""
    truncated_by_token_cap: bool = False
    partial: bool = False
    """True when something of the file is not in `content`."""
    cut_lines: int = 0
    """How many lines are shown in part because they are very long."""
    encoding: str = "utf-8"
    newline: str = "\n"
    is_directory: bool = False
    note: str = ""
    _split: tuple[str, list[str]] | None = PrivateAttr(default=None)

    def remember_lines(self, lines: list[str]) -> None:
        """Keep the lines of `content` for whoever words it; they are forgotten when `content` is another one."""
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
    outputs: list[str] = []
    images: list[str] = Field(default=[], repr=False)
    """Pictures among the outputs, base64, each as a provider takes it."""
    image_types: list[str] = []
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
    """The last page that was asked for; fewer may have fitted."""


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
    TextFile | ImageFile | NotebookFile | PdfFile | PartsFile | UnchangedFile, Field(discriminator="type")
]
