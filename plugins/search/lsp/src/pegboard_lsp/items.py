"""Turn the answer of a server into items: paths that may be shown, lines that a person counts, and their text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from pegboard import Context
from pegboard.permission import WorkingDirectories
from pegboard_lsp.addresses import lines_of, path_of, text_of_file, to_column
from pegboard_lsp.capabilities import SYMBOL_KINDS
from pegboard_lsp.literals import without_values
from pegboard_lsp.lsp_output import LspItem
from pegboard_lsp.operations import Answered
from pegboard_lsp.symbols import all_symbols, in_text, position_of, start_of

LONGEST_LINE = 200
LONGEST_NAME = 200
LONGEST_MESSAGE = 1_000
LONGEST_HOVER = 10_000
MOST_WORDS = 100_000
SEVERITIES = ("error", "warning", "information", "hint")


class Items:
    """Makes the items of one call. What rules withhold is left out here, before anything is counted."""

    def __init__(self, ctx: Context, may_show: Callable[[str], bool] | None) -> None:
        """`may_show` says which paths rules let through; None where they withhold nothing."""
        self._cwd = os.path.normpath(ctx.cwd)
        self._inside = WorkingDirectories.of(ctx)
        self._may_show = lru_cache(maxsize=None)(may_show or _everything)
        self._is_limited = may_show is not None
        self._lines = lru_cache(maxsize=64)(self._read)

    def of(self, operation: str, done: Answered) -> list[LspItem]:
        """The items of an answer, in a stable order and each of them once."""
        if operation == "documentSymbol":
            return list(self._symbols(done))
        if operation == "diagnostics":
            made = sorted(self._problems(done), key=lambda item: (item.line, item.character, item.message))
        else:
            make = {"incomingCalls": self._calls, "outgoingCalls": self._calls, "workspaceSymbol": self._found}
            made = list(make.get(operation, self._locations)(done))
            if operation != "workspaceSymbol":  # The server puts the best match first.
                made.sort(key=lambda item: (item.path, item.line, item.character))
        return list({(one.path, one.line, one.character, one.name, one.message): one for one in made}.values())

    def shown(self, path: str) -> str:
        """A path as the model sees it: relative to the working directory when it is inside."""
        named = path[len(self._cwd) + 1 :] if path.startswith(f"{self._cwd}/") else path
        return named.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    def hover(self, done: Answered) -> str:
        """The text of a hover, in whichever of its four forms."""
        contents = done.answer.get("contents") if isinstance(done.answer, dict) else None
        parts = contents if isinstance(contents, list) else [contents]
        text = self._allowed("\n\n".join(filter(None, map(_words, parts))), done.path)
        return clean(text, LONGEST_HOVER, keep="\n\t")

    def _allowed(self, words: str, path: str) -> str:
        """A server's words without values that it may have from a file that rules withhold."""
        return without_values(words[:MOST_WORDS], "\n".join(self._lines(path))) if self._is_limited else words

    def _item(self, uri: Any, place: tuple[int, int], **more: Any) -> LspItem | None:
        path = path_of(uri)
        if path is None or not self._may_show(path):
            return None
        line, unit = place
        text = self._line(path, line)
        # A file outside the working directories is not read for its text: that would need a permission of its own.
        more["text"] = clean(text.strip(), LONGEST_LINE)
        return LspItem(path=self.shown(path), line=line + 1, character=_character(text, unit), **more)

    def _line(self, path: str, line: int) -> str:
        lines = self._lines(path)
        return lines[line] if line < len(lines) else ""

    def _read(self, path: str) -> list[str]:
        is_inside = self._inside.hold(path) and self._inside.hold(os.path.realpath(path))
        text = text_of_file(path) if is_inside else None
        return lines_of(text) if text is not None else []

    def _locations(self, done: Answered) -> Iterator[LspItem]:
        """Definitions, references and implementations; and the functions of a call hierarchy."""
        for one in _objects(done.answer):
            given = one.get("selectionRange") or one.get("targetSelectionRange") or one.get("range")
            more = {"name": _name(one), "kind": _kind(one)} if "name" in one else {}
            item = self._item(one.get("uri") or one.get("targetUri"), position_of(given), **more)
            if item:
                yield item

    def _found(self, done: Answered) -> Iterator[LspItem]:
        for one in _objects(done.answer):
            location = one.get("location")
            uri = location.get("uri") if isinstance(location, dict) else None
            around = clean(str(one.get("containerName") or ""), LONGEST_NAME)
            name = f"{around}.{_name(one)}" if around else _name(one)
            item = self._item(uri, start_of(one), name=name, kind=_kind(one))
            if item:
                # Some servers point at the whole definition.
                text = self._line(path_of(uri) or "", item.line - 1)
                column = in_text(_name(one), text, item.character - 1)
                item.character = item.character if column is None else column + 1
                yield item

    def _calls(self, done: Answered) -> Iterator[LspItem]:
        for one in _objects(done.answer):
            other = one.get("from") or one.get("to")
            if not isinstance(other, dict):
                continue
            lines = sorted({position_of(given)[0] + 1 for given in _objects(one.get("fromRanges"))})
            given = position_of(other.get("selectionRange") or other.get("range"))
            item = self._item(other.get("uri"), given, name=_name(other), kind=_kind(other), lines=lines)
            if item:
                yield item

    def _symbols(self, done: Answered) -> Iterator[LspItem]:
        for one, names in all_symbols(done.answer):
            line, unit = start_of(one)
            yield LspItem(
                path=self.shown(done.path),
                line=line + 1,
                character=_character(self._line(done.path, line), unit),
                name=_name(one),
                kind=_kind(one),
                depth=len(names) - 1,
            )

    def _problems(self, done: Answered) -> Iterator[LspItem]:
        for one in _objects(done.answer):
            line, unit = position_of(one.get("range"))
            text = self._line(done.path, line)
            source = ": ".join(str(one[key]) for key in ("source", "code") if isinstance(one.get(key), (str, int)))
            yield LspItem(
                path=self.shown(done.path),
                line=line + 1,
                character=_character(text, unit),
                severity=_named(SEVERITIES, one.get("severity")) or "error",
                message=clean(self._allowed(_words(one.get("message")), done.path), LONGEST_MESSAGE),
                source=clean(source, LONGEST_NAME),
            )


def clean(text: str, longest: int, keep: str = "\t") -> str:
    """A server's text without control characters, in one line unless `keep` has a line feed, and not too long."""
    text = text if len(text) <= longest else f"{text[:longest]}…"
    if "\n" not in keep:
        text = " ".join(text.split())
    return "".join(one if one.isprintable() or one in keep else "\ufffd" for one in text)


def _everything(path: str) -> bool:
    return True


def _character(text: str, unit: int) -> int:
    """The character from 1 for a column of the protocol; where the line is not known, the column itself."""
    return (to_column(text, unit) if text else unit) + 1


def _words(given: Any) -> str:
    value = given.get("value") if isinstance(given, dict) else given
    return value.strip() if isinstance(value, str) else ""


def _objects(answer: Any) -> Iterator[dict[str, Any]]:
    for one in answer if isinstance(answer, list) else [answer]:
        if isinstance(one, dict):
            yield one


def _name(symbol: dict[str, Any]) -> str:
    return clean(str(symbol.get("name", "")), LONGEST_NAME)


def _kind(symbol: dict[str, Any]) -> str:
    return _named(SYMBOL_KINDS, symbol.get("kind"))


def _named(names: Sequence[str], number: Any) -> str:
    """The name of a number of the protocol, which counts from 1; empty for one that has none."""
    return names[number - 1] if isinstance(number, int) and 1 <= number <= len(names) else ""
