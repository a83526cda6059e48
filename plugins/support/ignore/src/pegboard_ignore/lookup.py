"""Is this one file ignored? For callers that have a path from elsewhere, not from a walk."""

from __future__ import annotations

import os

from pegboard_ignore.chain import SPECIAL, Chain
from pegboard_ignore.scope import Scope


class Lookup:
    """Answers for files below the root of a scope; results per folder are cached."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._folders: dict[str, Chain | None] = {}

    def ignores(self, path: str) -> bool:
        """Whether a walk would skip this file, given by its absolute path."""
        if self._scope.include_ignored:
            return False
        folder, _, name = path.rpartition("/")
        chain = self._inside(folder or "/")
        return chain is None or chain.ignores(path, name, False)

    def _inside(self, folder: str) -> Chain | None:
        """The chain inside a folder; None for a folder that is ignored."""
        if folder in self._folders:
            return self._folders[folder]
        above: Chain | None = self._scope.chain
        if folder != self._scope.root:
            parent, _, name = folder.rpartition("/")
            above = self._inside(parent or "/")
            if above is not None and above.ignores(folder, name, True):
                above = None
        if above is not None:
            present = [name for name in SPECIAL if os.path.lexists(f"{folder}/{name}")]
            above = above.entering(folder, present) if present else above
        self._folders[folder] = above
        return above
