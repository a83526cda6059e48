"""What is kept between sessions: the last tool list of each server, and the definitions that were approved."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.settings import cache_dir, private_folder, state_dir
from pegboard_mcp.config import ServerConfig
from pegboard_trust import replace_file

VERSION = 1
MOST_BYTES = 64_000_000


def digest(definition: Mapping[str, Any]) -> str:
    """The hash by which a tool's definition is pinned: everything that the model or a decision could rest on."""
    words = json.dumps(definition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Listing:
    """What a server said about itself when it was last reached."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    instructions: str = ""
    has_resources: bool = False


class Shelf:
    """The files of one server: a listing in the cache folder and the pins in the state folder.

    Where there is no such folder nothing is kept: the tools are known once the server has connected, and definitions
    are pinned for as long as the process lives.
    """

    def __init__(self, server: ServerConfig, env: Mapping[str, str]) -> None:
        self._server = server
        self._cache = _file(cache_dir(env), server.key)
        self._state = _file(state_dir(env), server.key)
        self._pins: dict[str, Any] | None = None

    def look_again(self) -> None:
        """Read the pins anew: another session may have approved something meanwhile. What is known here stays."""
        before, self._pins = self._pins, None
        if before is not None:
            now = self.pins
            now["tools"] = before["tools"] | now["tools"]
            now["entry"] = now["entry"] or before["entry"]
            now["lost"] = now["lost"] or before["lost"]

    def listing(self) -> Listing | None:
        """The last listing of exactly this server: one with another command or url has said nothing yet."""
        found = _read(self._cache)
        if not found or found.get("digest") != self._server.digest:
            return None
        try:
            return Listing(**found["listing"])
        except (KeyError, TypeError):
            return None

    def keep_listing(self, listing: Listing) -> None:
        """Remember what the server said."""
        _write(self._cache, {"digest": self._server.digest, "server": self._server.name, "listing": vars(listing)})

    def forget(self) -> None:
        """Remove both files."""
        for path in (self._cache, self._state):
            if path:
                path.unlink(missing_ok=True)
        self._pins = None

    @property
    def pins(self) -> dict[str, Any]:
        """The approved definitions by tool, and the approved entry of a project's server.

        `lost` says that there was a file which cannot be believed: what was approved is unknown, so a person is asked.
        """
        if self._pins is None:
            found = _read(self._state)
            there = self._state is not None and os.path.lexists(self._state)
            tools, entry, lost = ((found or {}).get(key) for key in ("tools", "entry", "lost"))
            self._pins = {
                "tools": tools if isinstance(tools, dict) else {},
                "entry": entry,
                "lost": bool(lost) or (there and not isinstance(tools, dict)),
            }
        return self._pins

    def approved(self, tool: str) -> dict[str, Any] | None:
        """The definition of a tool that was approved last; an empty one where that cannot be known any more."""
        found = self.pins["tools"].get(tool)
        return found if isinstance(found, dict) else {} if self.pins["lost"] else None

    def approve(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        """Pin definitions from now on."""
        self.pins["tools"] |= {name: dict(definition) for name, definition in definitions.items()}
        self._save()

    def entry_change(self) -> dict[str, Any] | None:
        """The approved entry of a project's server that has another command or url now; None where nothing changed.

        The first entry that is seen in a trusted project is approved with it.
        """
        known = self.pins["entry"]
        if not self._server.from_project:
            return None
        if not isinstance(known, dict) and self.pins["lost"]:
            return {}
        if not isinstance(known, dict):
            self.approve_entry()
            return None
        was = ServerConfig(self._server.name, known)
        return None if was.digest == self._server.digest else known

    def approve_entry(self) -> None:
        """Start the server as it is described now."""
        self.pins["entry"] = dict(self._server.entry)
        self._save()

    def approve_all(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        """A person has looked at the server as a whole: its entry and every tool that it lists."""
        self.pins["lost"] = False
        self.approve(definitions)

    def _save(self) -> None:
        _write(self._state, {"server": self._server.name, "scope": self._server.scope, **self.pins})


def _file(folder: str | None, key: str) -> Path | None:
    return Path(folder, "mcp", f"{key}.json") if folder else None


def _read(path: Path | None) -> dict[str, Any] | None:
    """The content of a file that only the user can have written; anything else counts as nothing."""
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if about.st_uid != os.geteuid() or about.st_mode & 0o077 or about.st_size > MOST_BYTES:
                return None
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None


def _write(path: Path | None, content: Mapping[str, Any]) -> None:
    """Keep it if it can be kept: a full disk costs a slower start, not the session."""
    if path is None or private_folder(path.parent) is None:
        return
    data = json.dumps({"version": VERSION, **content}, ensure_ascii=True).encode()
    try:
        replace_file(str(path), data, 0o600)
    except OSError:
        return
