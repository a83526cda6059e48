"""Fields that people wrote as if they were plain text: a description with colons and quotes on one line.

Other hosts read such files, so they are common. Only fields that are text are read this way; a list of tools or a mode
that cannot be parsed stays an error, because guessing at it could give an agent more than its author meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pegboard_definitions.fields import Fields, FieldsError, NotYamlError, read_fields

ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+|$)")


@dataclass(slots=True)
class Entry:
    """The lines of one field, as they are in the file."""

    name: str
    line: int
    lines: list[str]

    @property
    def words(self) -> str:
        """What follows the colon, as one line."""
        first = self.lines[0].partition(":")[2]
        return " ".join(part.strip() for part in (first, *self.lines[1:]) if part.strip()).strip(">|").strip()


def read_lenient_fields(
    text: str, text_fields: Collection[str], known: Collection[str]
) -> tuple[Fields, dict[str, int], dict[str, str]]:
    """The values, the line of each field, and the fields that were read as plain text, each with the reason."""
    try:
        fields, lines = read_fields(text)
    except NotYamlError as fault:
        entries = _entries(text, text_fields, known)
        if entries is None:
            raise
        return _each_alone(entries, text_fields, fault)
    return fields, lines, {}


def _entries(text: str, text_fields: Collection[str], known: Collection[str]) -> list[Entry] | None:
    """The fields one by one. After a text field, a line that begins no known field belongs to the text."""
    found: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = ENTRY.match(line)
        in_text = bool(found) and found[-1].name in text_fields
        if match and not (in_text and match[1] not in known):
            found.append(Entry(match[1], number, [line]))
        elif found:
            found[-1].lines.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            return None
    return found or None


def _each_alone(
    entries: list[Entry], text_fields: Collection[str], fault: FieldsError
) -> tuple[Fields, dict[str, int], dict[str, str]]:
    fields: Fields = {}
    lines: dict[str, int] = {}
    as_text: dict[str, str] = {}
    for entry in entries:
        if entry.name in fields:
            raise FieldsError(entry.line, f"Duplicate field {entry.name!r}.")
        try:
            fields |= read_fields("\n".join(entry.lines))[0]
        except FieldsError as error:
            is_text = isinstance(error, NotYamlError) and entry.name in text_fields and entry.words
            if not is_text or "\0" in entry.words:
                raise FieldsError(entry.line + error.line - 1, str(error)) from None
            fields[entry.name], as_text[entry.name] = entry.words, str(error)
        lines[entry.name] = entry.line
    if not as_text:  # Each part is well alone, so what is wrong is how they stand together.
        raise fault
    return fields, lines, as_text
