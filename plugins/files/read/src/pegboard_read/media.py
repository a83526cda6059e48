"""Images and PDF documents as Read returns them."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from pegboard import Block, Image, Text, ToolError
from pegboard.wording import counted
from pegboard_files import Files
from pegboard_media import MediaError, Pdf, fit_picture, open_pdf
from pegboard_read.pages import tokens_in
from pegboard_read.read_output import Dimensions, ImageFile, PagePicture, PartsFile, PdfFile

MAX_WHOLE_PAGES = 10
MAX_PAGES = 20
LARGEST = 100_000_000
PAGES = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
FEWEST_CHARS = 10
"""A page with less text than this is treated as a scan."""


def wrong_pages(pages: str) -> str | None:
    """What is wrong with a page range, as a sentence."""
    found = PAGES.fullmatch(pages.strip())
    if not found:
        return f'pages must be a page or a range such as "3" or "1-5", got {pages!r}.'
    first, last = int(found[1]), int(found[2] or found[1])
    if first < 1 or last < first:
        return f"pages must be an ascending range that starts at 1 or more, got {pages!r}."
    if last - first >= MAX_PAGES:
        return f"pages may name up to {MAX_PAGES} pages at once, got {last - first + 1}."
    return None


def picture_of(data: bytes, name: str) -> ImageFile:
    """An image that a provider accepts; one that cannot be shown becomes an explanation."""
    try:
        made = fit_picture(data)
    except MediaError as error:
        raise ToolError(f"{name} ({len(data):,} bytes) cannot be shown. {error}", code="unsupported") from None
    return ImageFile(
        file_path=name,
        base64=base64.b64encode(made.data).decode(),
        media_type=made.media_type,
        original_size=made.original_bytes,
        dimensions=Dimensions(
            original_width=made.original_width,
            original_height=made.original_height,
            display_width=made.width,
            display_height=made.height,
        ),
        frames=made.frames,
    )


def pdf_of(data: bytes, name: str, pages: str | None, max_tokens: int, files: Files) -> PdfFile | PartsFile:
    """The text of a PDF, or its pages as images where there is no text."""
    try:
        with open_pdf(data) as document:
            first, last = _range(document, name, pages)
            texts = [document.text(page - 1) for page in range(first, last + 1)]
            if any(len(text.strip()) >= FEWEST_CHARS for text in texts):
                kept = _within(texts, max_tokens, asked=pages is not None)
                return PdfFile(
                    file_path=name,
                    original_size=len(data),
                    total_pages=document.pages,
                    first_page=first,
                    pages=kept,
                    last_wanted=last,
                )
            return _as_pictures(document, data, name, first, last, files)
    except MediaError as error:
        raise ToolError(f"{name} cannot be read as a PDF. {error}", code="unsupported") from None


def _range(document: Pdf, name: str, pages: str | None) -> tuple[int, int]:
    total = document.pages
    if not total:
        raise MediaError("It has no pages.")
    if pages is None:
        if total > MAX_WHOLE_PAGES:
            reason = f"{name} has {total} pages, too many to read at once."
            raise ToolError(f'{reason} Give pages, such as pages="1-{MAX_WHOLE_PAGES}".', code="too_large")
        return 1, total
    found = PAGES.fullmatch(pages.strip())
    assert found is not None  # noqa: S101 - validate_input has looked at it
    first, last = int(found[1]), int(found[2] or found[1])
    if first > total:
        raise ToolError(f"{name} has {counted(total, 'page')}; there is no page {first}.")
    return first, min(last, total)


def _within(texts: list[str], max_tokens: int, *, asked: bool) -> list[str]:
    spent = 0
    for number, text in enumerate(texts):
        spent += tokens_in(text)
        if spent > max_tokens:
            if asked and number:
                reason = f"The text of these pages is more than {max_tokens} tokens."
                raise ToolError(f"{reason} Ask for at most {counted(number, 'page')}.", code="too_large")
            return texts[:number] or [text[: max_tokens * 3] + "\n… (cut: the page is too long to show in full)"]
    return texts


def _as_pictures(document: Pdf, data: bytes, name: str, first: int, last: int, files: Files) -> PartsFile:
    folder = files.scratch("pages")
    made = list[PagePicture]()
    for page in range(first, last + 1):
        picture = document.picture(page - 1)
        suffix = "png" if picture.media_type == "image/png" else "jpg"
        (folder / f"{Path(name).stem[:60]}-{page}.{suffix}").write_bytes(picture.data)
        encoded = base64.b64encode(picture.data).decode()
        made.append(PagePicture(page=page, media_type=picture.media_type, base64=encoded))
    return PartsFile(
        file_path=name,
        original_size=len(data),
        total_pages=document.pages,
        count=len(made),
        output_dir=str(folder),
        pages=made,
    )


def blocks_of(value: ImageFile | PdfFile | PartsFile) -> list[Block]:
    """What the model sees of them."""
    if isinstance(value, ImageFile):
        return [Image(base64.b64decode(value.base64), value.media_type), Text(_about(value))]
    if isinstance(value, PartsFile):
        pictures: list[Block] = [Image(base64.b64decode(page.base64), page.media_type) for page in value.pages]
        numbers = f"{value.pages[0].page} to {value.pages[-1].page} of {value.total_pages}"
        words = f"{value.file_path}: pages {numbers} have no text layer and are shown as images."
        return [*pictures, Text(f"{words} The images are saved in {value.output_dir}.")]
    lines = [f"{value.file_path}: {counted(value.total_pages, 'page')}, {value.original_size:,} bytes."]
    for number, text in enumerate(value.pages, value.first_page):
        lines.append(f"--- page {number} ---")
        bare = f'(This page has no text layer; read it with pages="{number}" to see it as an image.)'
        lines.append(text.strip() if len(text.strip()) >= FEWEST_CHARS else bare)
    last = value.first_page + len(value.pages) - 1
    if last < value.last_wanted:
        lines.append(f"(PARTIAL: pages {value.first_page} to {last} fit; continue with pages={str(last + 1)!r}.)")
    return [Text("\n".join(lines))]


def _about(value: ImageFile) -> str:
    size = value.dimensions
    words = f"{value.file_path}: {size.original_width} x {size.original_height} pixels, {value.original_size:,} bytes"
    if (size.display_width, size.display_height) != (size.original_width, size.original_height):
        words += f", shown at {size.display_width} x {size.display_height}"
    return f"{words}; only the first of {value.frames} frames is shown." if value.frames > 1 else f"{words}."
