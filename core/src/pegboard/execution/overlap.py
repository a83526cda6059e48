"""Which calls may overlap: those that say they are safe, and those that touch different files and name them all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pegboard.contract import Facts, Tool
from pegboard.function_tool import _FunctionTool  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The paths of a call, in every spelling on the way through links, because a link may be what another changes."""

    changed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    @classmethod
    def of(cls, facts: Facts) -> Footprint | None:
        """The footprint, or None where the facts do not name everything that the call touches."""
        if facts.open_world or facts.hosts or not facts.paths:
            return None
        if any(not path.sound or _has_other_names(path.spellings[-1]) for path in facts.paths):
            return None
        changed = frozenset(name for path in facts.paths if path.change for name in path.spellings)
        return cls(changed, frozenset(name for path in facts.paths for name in path.spellings) - changed)

    def conflicts_with(self, other: Footprint) -> bool:
        """Whether one changes what the other touches; a folder contains its files."""
        return _meet(self.changed, other.changed) or _meet(self.changed, other.read) or _meet(self.read, other.changed)


def _meet(these: Iterable[str], those: Iterable[str]) -> bool:
    return any(a == b or _contains(a, b) or _contains(b, a) for a in these for b in those)


def _contains(folder: str, path: str) -> bool:
    return path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _has_other_names(path: str) -> bool:
    """Whether another path may be the same file: it has hard links, or the file cannot be examined."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode)


def safety(tool: Tool[Any, Any]) -> bool | None:
    """Whether calls of a tool may overlap, if that does not depend on the input."""
    facts = type(tool).facts
    constant = facts is Tool.facts or (
        isinstance(tool, _FunctionTool) and facts is _FunctionTool.facts and not tool._facts
    )
    # The default facts of a tool that stays here name the paths of its input.
    return tool.concurrency_safe if constant and (tool.concurrency_safe or tool.open_world) else None
