"""Keep a server in step with the files on disk: its open documents, and all others of its languages."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pegboard import ToolError
from pegboard_ignore import Scope, walk
from pegboard_lsp.addresses import text_of_file, uri_of
from pegboard_lsp.client import Client

MOST_OPEN = 200
MOST_WATCHED = 50_000
SCAN_SECONDS = 1.0
SPARE = 5
"""A scan may take this part of the time: one that takes 0.1 s is repeated after 0.5 s at the earliest."""
CREATED, CHANGED, DELETED = 1, 2, 3
PROJECT_FILES = frozenset(
    {
        *(
            "pyproject.toml",
            "setup.cfg",
            "ty.toml",
            "ruff.toml",
            "pyrightconfig.json",
            "tsconfig.json",
            "jsconfig.json",
        ),
        *("package.json", "compile_commands.json", "compile_flags.txt", ".clangd", "go.mod", "go.work", "Cargo.toml"),
    }
)
"""Files that change what a server says about others."""

Stamp = tuple[int, int, int]


@dataclass
class Document:
    """A file that the server has open."""

    path: str
    text: str
    stamp: Stamp | None
    version: int = 1
    seen: int = 0
    """The number of changes that the server knew of when this one was last checked for problems."""


class Documents:
    """The files of one running server."""

    def __init__(self, client: Client, languages: Mapping[str, str], root: str) -> None:
        self._client, self._languages, self._root = client, languages, root
        self._open: dict[str, Document] = {}
        self._watched: dict[str, Stamp] = {}
        self._scanned, self._took = 0.0, 0.0
        self.changes = 0
        """How many changes the server was told about."""

    def look(self) -> None:
        """Remember how the files are now: the server reads them itself when it starts."""
        self._watched = self._scan()

    async def bring(self, path: str) -> Document:
        """Open a file, or tell the server what it contains now."""
        known = self._open.pop(path, None)
        stamp, text = stamp_of(path), text_of_file(path)
        if text is None:
            raise ToolError(f"{path} cannot be read, or is too large for a language server.", code="unsupported")
        if known is None:
            document = Document(path, text, stamp)
            await self._tell_open(document)
        else:
            document = known
            if document.text != text:
                await self._tell_changed(document, text)
            document.stamp = stamp
        self._open[path] = document  # The last one is the one that was used last.
        if len(self._open) > MOST_OPEN:
            await self._close(next(iter(self._open)))
        return document

    async def open_again(self, document: Document) -> None:
        """Have the server look at a file anew: some say nothing about one whose text is the same."""
        await self._client.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(document.path)}})
        document.version += 1
        await self._tell_open(document)

    async def catch_up(self, written: Iterable[str], found: Mapping[str, Stamp] | None) -> None:
        """Tell the server of every file that was written, changed or removed since it was last told.

        `written` are files that tools have changed, `found` is the result of a scan.
        """
        events = self._differences(written, found)
        for path in [*self._open]:
            document = self._open[path]
            now = stamp_of(path)
            if now is None:
                await self._close(path)
            elif now != document.stamp or path in events:
                text = text_of_file(path)
                if text is None:
                    await self._close(path)
                elif text != document.text:
                    await self._tell_changed(document, text)
                document.stamp = now
        if events:
            self.changes += 1
            changes = [{"uri": uri_of(path), "type": kind} for path, kind in events.items()]
            await self._client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def scan(self) -> dict[str, Stamp] | None:
        """The files as they are now; None when the last look was too short a time ago for its cost."""
        if time.monotonic() - self._scanned < self._took * SPARE:
            return None
        return self._scan()

    def _scan(self) -> dict[str, Stamp]:
        began = time.monotonic()
        found: dict[str, Stamp] = {}
        for folder in walk(Scope.of(self._root, project=self._root), deadline=began + SCAN_SECONDS):
            for name in folder.names:
                if os.path.splitext(name)[1].lower() in self._languages or name in PROJECT_FILES:
                    path = os.path.join(folder.path, name)
                    stamp = stamp_of(path)
                    if stamp is not None:
                        found[path] = stamp
            if len(found) > MOST_WATCHED:
                break
        self._scanned = time.monotonic()
        self._took = self._scanned - began
        return found

    def _differences(self, written: Iterable[str], found: Mapping[str, Stamp] | None) -> dict[str, int]:
        events: dict[str, int] = {}
        before = self._watched
        whole = found is not None and self._took < SCAN_SECONDS and len(found) <= MOST_WATCHED
        for path, stamp in (found or {}).items():
            if before.get(path) != stamp:
                events[path] = CHANGED if path in before else CREATED
        if found is not None:
            # What a scan that was cut short did not reach has not been removed.
            gone = before.keys() - found.keys() if whole else ()
            events |= dict.fromkeys(gone, DELETED)
            self._watched = dict(found) if whole else {**before, **found}
        for path in written:
            now = stamp_of(path)
            events[path] = DELETED if now is None else CHANGED if path in before else CREATED
            if now is not None:
                self._watched[path] = now
            else:
                self._watched.pop(path, None)
        return events

    async def _tell_open(self, document: Document) -> None:
        self.changes += 1
        language = self._languages.get(os.path.splitext(document.path)[1].lower(), "plaintext")
        about = {"uri": uri_of(document.path), "languageId": language, "version": document.version}
        await self._client.notify("textDocument/didOpen", {"textDocument": {**about, "text": document.text}})

    async def _tell_changed(self, document: Document, text: str) -> None:
        self.changes += 1
        document.text = text
        document.version += 1
        about = {"uri": uri_of(document.path), "version": document.version}
        change = {"textDocument": about, "contentChanges": [{"text": text}]}
        await self._client.notify("textDocument/didChange", change)
        await self._client.notify("textDocument/didSave", {"textDocument": {"uri": about["uri"]}})

    async def _close(self, path: str) -> None:
        self.changes += 1
        del self._open[path]
        await self._client.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})


def stamp_of(path: str) -> Stamp | None:
    """What tells one state of a file from another; None where there is no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
