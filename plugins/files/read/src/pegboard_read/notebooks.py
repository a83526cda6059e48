"""A notebook as cells with their outputs."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from pegboard import Block, Image, Text, ToolError
from pegboard_media import MediaError, fit_picture
from pegboard_read.pages import LineRange, tokens_in
from pegboard_read.read_output import Cell, NotebookFile

LARGEST = 100_000_000
MAX_OUTPUT_CHARS = 10_000
MAX_SOURCE_CHARS = 50_000
MAX_PICTURES = 10


class NotANotebookError(Exception):
    """The file is named like a notebook but is not a valid one; the message says why."""


def notebook_of(data: bytes, name: str, wanted: LineRange) -> NotebookFile:
    """The requested cells: offset and limit count cells."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotANotebookError(f"not valid JSON ({error})") from None
    cells = whole.get("cells") if isinstance(whole, dict) else None
    if not isinstance(cells, list):
        raise NotANotebookError("it has no list of cells")
    start = wanted.first(len(cells))
    shown, spent, pictures = list[Cell](), 0, 0
    for number, raw in enumerate(cells[start - 1 :][: wanted.limit], start):
        cell = _cell(number, raw if isinstance(raw, dict) else {}, MAX_PICTURES - pictures)
        spent += tokens_in(cell.source) + sum(map(tokens_in, cell.outputs))
        if spent > wanted.max_tokens and shown:
            if wanted.limit is not None:
                reason = f"These {wanted.limit} cells are more than {wanted.max_tokens} tokens."
                raise ToolError(f"{reason} Use a smaller limit.", code="too_large")
            break
        pictures += len(cell.images)
        shown.append(cell)
    language = str(_at(whole, "metadata", "kernelspec", "language") or "")
    return NotebookFile(file_path=name, cells=shown, start_cell=start, total_cells=len(cells), language=language)


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _cell(number: int, raw: dict[str, Any], room: int) -> Cell:
    source, cut = _cut(_joined(raw.get("source")), MAX_SOURCE_CHARS)
    outputs, images, kinds = list[str](), list[str](), list[str]()
    for output in raw.get("outputs") or ():
        text, picture = _output(output if isinstance(output, dict) else {})
        if picture and len(images) < room:
            try:
                fitted = fit_picture(picture)
                images.append(base64.b64encode(fitted.data).decode())
                kinds.append(fitted.media_type)
                continue
            except MediaError as error:
                text = f"(An image that cannot be shown. {error})"
        elif picture:
            text = "(One more image, not shown.)"
        if text:
            outputs.append(text)
    joined, cut_output = _cut("\n".join(outputs), MAX_OUTPUT_CHARS)
    count = raw.get("execution_count")
    return Cell(
        number=number,
        id=str(raw.get("id") or ""),
        cell_type=str(raw.get("cell_type") or "unknown"),
        source=source,
        execution_count=count if isinstance(count, int) else None,
        outputs=[joined] if joined else [],
        images=images,
        image_types=kinds,
        cut=cut or cut_output,
    )


def _output(output: dict[str, Any]) -> tuple[str, bytes]:
    """Text or an image; an image is preferred to its description, plain text to HTML."""
    if output.get("output_type") == "stream":
        return _joined(output.get("text")), b""
    if output.get("output_type") == "error":
        trace = "\n".join(map(str, output.get("traceback") or ()))
        return trace or f"{output.get('ename')}: {output.get('evalue')}", b""
    data = output.get("data")
    if not isinstance(data, dict):
        return "", b""
    for kind in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if kind in data:
            try:
                return "", base64.b64decode(_joined(data[kind]))
            except (binascii.Error, ValueError):
                return f"(An image of type {kind} that is not valid base64.)", b""
    for kind in ("text/plain", "text/markdown", "text/html", "application/json", "image/svg+xml"):
        if kind in data:
            value = data[kind]
            return (json.dumps(value) if kind == "application/json" else _joined(value)), b""
    return f"(Output that cannot be shown, of type {', '.join(sorted(map(str, data)))}.)" if data else "", b""


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _cut(text: str, most: int) -> tuple[str, bool]:
    if len(text) <= most:
        return text, False
    return f"{text[:most]}\n… (cut: {len(text) - most:,} more characters)", True


def blocks_of(value: NotebookFile) -> list[Block]:
    """The cells as the model reads them, with images in their place."""
    if not value.total_cells:
        return [Text(f"{value.file_path} is a notebook with no cells.")]
    if not value.cells:
        cells = "1 cell" if value.total_cells == 1 else f"{value.total_cells} cells"
        return [Text(f"{value.file_path} has {cells}; there is no cell {value.start_cell}.")]
    blocks: list[Block] = []
    lines: list[str] = []
    for cell in value.cells:
        count = f" [{cell.execution_count}]" if cell.execution_count is not None else ""
        lines.append(f"--- cell {cell.number}, {cell.cell_type}{count}{f', id {cell.id}' if cell.id else ''} ---")
        lines.append(cell.source)
        if cell.outputs:
            lines += ["--- output ---", *cell.outputs]
        for data, kind in zip(cell.images, cell.image_types, strict=False):
            blocks += [Text("\n".join(lines)), Image(base64.b64decode(data), kind)]
            lines = [f"(the image above is output of cell {cell.number})"]
    last = value.start_cell + len(value.cells) - 1
    if last < value.total_cells:
        shown = f"cells {value.start_cell} to {last} of {value.total_cells}"
        lines.append(f"(PARTIAL: {shown}; continue with offset={last + 1}.)")
    return [*blocks, Text("\n".join(lines))]
