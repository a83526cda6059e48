"""The working directories: where reading needs nobody's leave."""

from __future__ import annotations

import os

from pegboard.context import Context
from pegboard.paths import ResolvedPath, resolve_path
from pegboard.settings.layers import Settings

MOST_KNOWN = 64
KEY = "working_directories"


class WorkingDirectories:
    """The folders of one context: `cwd`, its roots, and what settings add; each under every name that it has."""

    __slots__ = ("roots",)

    def __init__(self, settings: Settings, cwd: str, roots: tuple[str, ...]) -> None:
        added: list[str] = settings.get("permissions.additionalDirectories", [])
        extra = (os.path.join(settings.cwd, os.path.expanduser(name)) for name in added)
        inside = [cwd, *roots, *(os.path.normpath(folder) for folder in extra)]
        if cwd.startswith(f"{settings.cwd}/"):
            inside.append(settings.cwd)
        self.roots = tuple(dict.fromkeys(spelled for folder in inside for spelled in both_spellings(folder)))

    @classmethod
    def of(cls, ctx: Context) -> WorkingDirectories:
        """The working directories of a context, found once and kept with its settings."""
        known = ctx.settings.__dict__.get(KEY)
        if known is None:
            known = ctx.settings.__dict__[KEY] = _Known()
        return known.of(ctx)

    def hold(self, spelling: str) -> bool:
        """Whether a normalised absolute path lies in one of them, as it is spelled."""
        for root in self.roots:
            if spelling == root or (spelling.startswith(root) and (root == "/" or spelling[len(root)] == "/")):
                return True
        return False

    def contain(self, path: ResolvedPath) -> bool:
        """Whether a path lies in them under each of its spellings; one that cannot be resolved does not."""
        if not path.sound:
            return False
        for spelling in path.spellings:  # noqa: SIM110 - a generator costs more than the whole loop
            if not self.hold(spelling):
                return False
        return True


class _Known:
    """What was found for the contexts of one `Settings`. Calls in a row have the same context."""

    __slots__ = ("_by_key", "_last")

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, tuple[str, ...]], WorkingDirectories] = {}
        self._last: tuple[object, object, WorkingDirectories] | None = None

    def of(self, ctx: Context) -> WorkingDirectories:
        last = self._last
        if last is not None and last[0] is ctx.cwd and last[1] is ctx.roots:
            return last[2]
        key = (str(ctx.cwd), tuple(map(str, ctx.roots)))
        found = self._by_key.get(key)
        if found is None:
            if len(self._by_key) >= MOST_KNOWN:
                self._by_key.clear()
            found = self._by_key[key] = WorkingDirectories(ctx.settings, os.path.normpath(key[0]), key[1])
        self._last = (ctx.cwd, ctx.roots, found)
        return found


def both_spellings(folder: str) -> tuple[str, ...]:
    """A folder as it is written and as the kernel knows it."""
    real = resolve_path(folder).spellings[-1]  # realpath fails where a link is swapped while it looks.
    return (folder,) if real == folder else (folder, real)
