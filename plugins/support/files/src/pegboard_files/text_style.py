"""What a project says about its files: charset and line ends from .editorconfig, .gitattributes and siblings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pegboard import ToolError
from pegboard_files.encodings import bom_of, canonical, is_binary, is_valid

LARGEST_CONFIG = 1_000_000
SIBLINGS = 5
SIBLING_BYTES = 65_536
NEWLINES = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
CHARSETS = {
    "latin1": "latin-1",
    "utf-8": "utf-8",
    "utf-8-bom": "utf-8",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a file is, or should be, written; None where nothing is declared."""

    encoding: str | None = None
    bom: bool | None = None
    newline: str | None = None

    def or_else(self, other: Style) -> Style:
        """The same, filled up with what the other says."""
        encoding, bom = (self.encoding, self.bom) if self.encoding else (other.encoding, other.bom)
        return Style(encoding, bom, self.newline or other.newline)


def declared_style(path: Path) -> Style:
    """What .editorconfig says about a file, then .gitattributes."""
    return _editorconfig(path).or_else(_gitattributes(path))


def style_for_new(path: Path) -> Style:
    """How a file that does not exist yet should be written: as declared, else like its siblings of the same suffix."""
    return declared_style(path).or_else(_like_siblings(path))


def _editorconfig(path: Path) -> Style:
    found: dict[str, str] = {}
    for folder in path.parents:
        text = _text(folder / ".editorconfig")
        if text is None:
            continue
        is_root, pairs = _section_pairs(text, path.relative_to(folder).as_posix())
        found = {**pairs, **found}
        if is_root:
            break
    charset = found.get("charset", "")
    encoding = CHARSETS.get(charset)
    bom = None if encoding is None else charset == "utf-8-bom" or charset.startswith("utf-16")
    return Style(encoding, bom, NEWLINES.get(found.get("end_of_line", "")))


def _section_pairs(text: str, relative: str) -> tuple[bool, dict[str, str]]:
    is_root, applies, preamble, pairs = False, False, True, dict[str, str]()
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            preamble, applies = False, _fits(line[1:-1], relative)
            continue
        key, _, value = line.partition("=")
        key, value = key.strip().lower(), value.strip().lower()
        if preamble and key == "root":
            is_root = value == "true"
        elif applies:
            pairs[key] = value
    return is_root, pairs


def _fits(glob: str, relative: str) -> bool:
    if "/" not in glob:
        glob = f"**/{glob}"
    pattern = _pattern(glob.removeprefix("/"))
    return bool(pattern and pattern.fullmatch(relative))


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str] | None:
    """A glob of .editorconfig or .gitattributes as an expression; None for one that cannot be read."""
    made, depth, at = "", 0, 0
    while at < len(glob):
        rest = glob[at:]
        numbers = re.match(r"\{(-?\d+)\.\.(-?\d+)\}", rest)
        bracket = re.match(r"\[([!^]?)([^\]/]+)\]", rest)
        if numbers and abs(int(numbers[2]) - int(numbers[1])) <= 1000:
            low, high = sorted((int(numbers[1]), int(numbers[2])))
            made += f"(?:{'|'.join(map(str, range(low, high + 1)))})"
        elif bracket:
            made += f"[{'^' if bracket[1] else ''}{bracket[2].replace(chr(92), chr(92) * 2)}]"
        elif rest.startswith("**/"):
            made += "(?:.*/)?"
        elif rest.startswith("**"):
            made += ".*"
        elif rest[0] == "{" and "," in rest and "}" in rest:
            made, depth = made + "(?:", depth + 1
        elif rest[0] in ",}" and depth:
            made += "|" if rest[0] == "," else ")"
            depth -= rest[0] == "}"
        else:
            made += {"*": "[^/]*", "?": "[^/]"}.get(rest[0]) or re.escape(rest[0])
        taken = numbers or bracket
        at += len(taken[0]) if taken else 3 if rest.startswith("**/") else 2 if rest.startswith("**") else 1
    try:
        return re.compile(made, re.DOTALL)
    except re.error:
        return None


def _gitattributes(path: Path) -> Style:
    attributes: dict[str, str] = {}
    for folder in path.parents:
        text = _text(folder / ".gitattributes")
        if text is not None:
            attributes = {**_attributes(text, path.relative_to(folder).as_posix()), **attributes}
        if (folder / ".git").exists():
            break
    encoding, bom = _working_tree(attributes.get("working-tree-encoding", ""))
    return Style(encoding, bom, NEWLINES.get(attributes.get("eol", "")))


def _attributes(text: str, relative: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        glob, *words = line.split()[:64] or ["#"]
        if glob.startswith("#") or not _fits(glob, relative):
            continue
        for word in words:
            key, _, value = word.partition("=")
            found[key] = value.lower()
    return found


def _working_tree(name: str) -> tuple[str | None, bool | None]:
    """Git writes `UTF-16LE-BOM` where a mark is wanted; plain `UTF-16` has one, `UTF-16LE` has none."""
    if not name:
        return None, None
    bare = name.removesuffix("-bom")
    try:
        return canonical(bare), bare != name or bare in ("utf-16", "utf-32")
    except ToolError:
        return None, None


def _like_siblings(path: Path) -> Style:
    seen: list[tuple[str | None, bool | None, str | None]] = []
    for sibling in _siblings(path):
        style = _style_of_head(sibling)
        if style is not None:
            seen.append((style.encoding, style.bom, style.newline))
        if len(seen) == SIBLINGS:
            break
    return Style(*max(seen, key=seen.count)) if seen else Style()


def _siblings(path: Path) -> Iterator[Path]:
    if not path.suffix:
        return
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(path.suffix) and e.is_file(follow_symlinks=False))
    except OSError:
        return
    yield from (path.with_name(name) for name in names if name != path.name)


def _style_of_head(path: Path) -> Style | None:
    try:
        with path.open("rb") as file:
            head = file.read(SIBLING_BYTES)
    except OSError:
        return None
    marked = bom_of(head)
    if not head or (marked is None and (is_binary(head) or not is_valid(head, "utf-8", whole=False))):
        return None
    encoding = marked[1] if marked else "utf-8"
    pairs, feeds = (head.count(mark.encode(encoding)) for mark in ("\r\n", "\n"))
    newline = "\r\n" if pairs * 2 > feeds else "\n"
    return Style(encoding, marked is not None, newline if feeds else None)


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_CONFIG:
            return None
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return None
