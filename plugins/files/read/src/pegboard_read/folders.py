"""List the names in a folder, one page at a time."""

from __future__ import annotations

import os
from pathlib import Path

from pegboard import Context
from pegboard_files.safe_open import open_approved
from pegboard_read.open_file import explained, shown
from pegboard_read.pages import LineRange
from pegboard_read.read_output import TextOutput


def folder_page(path: Path, ctx: Context, wanted: LineRange) -> TextOutput:
    """The sorted entries; a folder's name ends with a slash, a link's with an at sign."""
    try:
        folder = open_approved(path, ctx.approved_paths, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(folder) as entries:
                names = sorted(map(_entry, entries))
        finally:
            os.close(folder)
    except OSError as error:
        raise explained(path, ctx.cwd, error) from None
    start = wanted.first(len(names))
    page = names[start - 1 :][: wanted.most]
    return TextOutput(
        file_path=shown(path),
        content="\n".join(page),
        num_lines=len(page),
        start_line=start,
        total_lines=len(names),
        partial=len(page) < len(names),
        is_directory=True,
    )


def _entry(entry: os.DirEntry[str]) -> str:
    name = shown(entry.name)
    if entry.is_symlink():
        return f"{name}@"
    return f"{name}/" if entry.is_dir(follow_symlinks=False) else name


def words_for(value: TextOutput) -> str:
    """The list as the model reads it."""
    if not value.total_lines:
        return f"{value.file_path} is an empty folder."
    last = value.start_line + value.num_lines - 1
    entries = "1 entry" if value.total_lines == 1 else f"{value.total_lines} entries"
    if not value.num_lines:
        return f"{value.file_path} has {entries}; there is no entry {value.start_line}."
    words = f"{value.file_path} is a folder with {entries}:\n{value.content}"
    if last < value.total_lines:
        words += f"\n(PARTIAL: entries {value.start_line} to {last}; continue with offset={last + 1}.)"
    return words
