"""From what a command needs to what is granted: paths with rights, and whether they are still those paths."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from pegboard_confine import landlock, visible_paths
from pegboard_confine.landlock import LIST, READ, RUN
from pegboard_confine.survey import CannotHideError, MayRead, Stamp, Survey, is_settled, stamp_of

Identity = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Access:
    """What a command may see. Two equal values share the grants that were computed for the first."""

    directories: tuple[str, ...]
    """The working directories."""
    home: str
    path: str = ""
    """Where its programs are, as in PATH."""
    reads: tuple[str, ...] = ()
    """Files and folders elsewhere that were allowed explicitly."""
    repository: bool = False
    """Whether it needs the git repository around the first working directory."""
    processes: bool = False
    """Whether it needs /proc, which shows the command lines of all processes."""
    hidden: tuple[str, ...] = ()
    """What must not be seen, besides credentials."""
    may_read: MayRead | None = field(default=None, compare=False)
    """What else must not be seen, told for each path: this takes a search of the working directories."""
    rules: object = None
    """Whatever tells one `may_read` from another."""


class Grants:
    """The grants for one `Access`, made again when a path has come to mean another file."""

    def __init__(self, wanted: Access) -> None:
        self.wanted = wanted
        real = tuple(dict.fromkeys(map(os.path.realpath, wanted.directories)))
        if any(visible_paths.is_in(path, never) for path in real for never in visible_paths.NEVER):
            raise CannotHideError("a working directory is in /proc, /sys or /dev")
        self._roots = real
        self._hidden = frozenset(visible_paths.both(wanted.hidden))
        self._credentials = frozenset(visible_paths.both(visible_paths.credentials(wanted.home)))
        for path in real:
            if any(visible_paths.is_in(path, secret) for secret in self._hidden | self._credentials):
                raise CannotHideError(f"{path} is in a folder that is hidden")
        secrets = {path for path in visible_paths.SECRETS if not any(visible_paths.is_in(root, path) for root in real)}
        named = self._hidden | self._credentials | secrets
        self._named = sorted(path for path in named if any(visible_paths.is_in(path, root) for root in real))
        self._survey = Survey(self._named, wanted.may_read)
        self._identities: dict[str, Identity] = {}
        self._above: dict[str, Stamp] = {}
        self._settled = False
        self.rights: dict[str, int] = {}
        self.hidden: list[str] = []
        self.bound: list[str] = []
        """What a mechanism that can hide is to show: the working directories as a whole."""
        self.make()

    def make(self) -> None:
        """Find out what is granted now."""
        found = self._survey.of(self._roots)
        granted: dict[str, int] = {}
        fixed = [*self._fixed()]
        for path, rights in fixed:
            granted[path] = granted.get(path, 0) | rights
        self.bound, self.hidden = [*granted, *self._roots], found.hidden
        for path in found.listed:
            granted[path] = granted.get(path, 0) | LIST
        for path in found.whole:
            granted[path] = granted.get(path, 0) | READ
        self.rights = granted
        paths = dict(fixed)
        self._identities = {path: _identity(path) for path in (*paths, *self._roots, *self._named)}
        above = {*map(_existing_parent, paths), *self._roots, *map(os.path.dirname, self._named)}
        self._look_from_above({path: stamp_of(path) for path in above})

    def is_current(self) -> bool:
        """Whether each path is still the file that it was, and no folder that was searched has changed.

        A folder that has not changed holds the files that it held, which saves looking at each of them.
        """
        if not self._survey.is_current():
            return False
        if self._settled and all(stamp_of(path) == was for path, was in self._above.items()):
            return True
        above = {path: stamp_of(path) for path in self._above}
        if any(_identity(path) != was for path, was in self._identities.items()):
            return False
        self._look_from_above(above)
        return True

    def _look_from_above(self, above: dict[str, Stamp]) -> None:
        self._above = above
        self._settled = all(map(is_settled, above.values()))

    def ruleset(self, private: str) -> int:
        """A ruleset of Landlock for one command with a private folder."""
        null = landlock.READ_FILE | landlock.WRITE_FILE | landlock.TRUNCATE
        return landlock.ruleset((*self.rights.items(), (private, landlock.CHANGE), (visible_paths.NULL, null)))

    def _fixed(self) -> Iterable[tuple[str, int]]:
        wanted = self.wanted
        for path in (*visible_paths.SYSTEM, *(f"/etc/{name}" for name in visible_paths.ETC)):
            yield path, RUN
        for path in visible_paths.DEVICES:
            yield path, READ
        outside = [*((f"{wanted.home}/{name}", RUN) for name in visible_paths.TOOLCHAINS)]
        outside += [(path, RUN) for path in visible_paths.programs(wanted.path, wanted.home)]
        if wanted.repository and self._roots:
            outside += [(path, READ) for path in visible_paths.repository_of(self._roots[0])]
        yield from ((path, rights) for path, rights in outside if self._may_grant(path, self._credentials))
        # A credential that a rule allows by name is no secret from this command.
        for path in wanted.reads:
            named = any(visible_paths.is_in(path, secret) for secret in self._credentials)
            secrets = frozenset(visible_paths.NEVER) | (frozenset() if named else self._credentials)
            if self._may_grant(path, secrets):
                yield path, READ
        if wanted.processes:
            yield visible_paths.PROCESSES, READ

    def _may_grant(self, path: str, secrets: frozenset[str]) -> bool:
        """Whether a path outside the working directories neither is nor holds what must not be seen."""
        real = os.path.realpath(path)
        if any(
            visible_paths.is_in(real, secret) or visible_paths.is_in(secret, real) for secret in self._hidden | secrets
        ):
            return False
        return self.wanted.may_read is None or (self.wanted.may_read(path) and self.wanted.may_read(real))


def _existing_parent(path: str) -> str:
    """The folder in which a change would show that a path has come to mean another file."""
    while not os.path.isdir(path := os.path.dirname(path)):
        pass
    return path


def _identity(path: str) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
