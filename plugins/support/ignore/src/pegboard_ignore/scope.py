"""What one search covers: where it starts, which ignore rules apply there, and which folders it never enters."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pegboard_ignore.chain import FILES, GIT, Chain
from pegboard_ignore.gitconfig import excludes_file

VCS = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", ".sl", "_darcs"})
"""Never searched, whatever the options."""

HEAVY = frozenset(
    {
        *("node_modules", "bower_components", ".venv", "venv", "__pycache__", ".tox", ".nox"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform"),
    }
)
"""Skipped unless the call names them: large and generated."""

HEAVY_PATHS = ((".pegboard", "worktrees"), (".claude", "worktrees"))
"""Other copies of the same project, skipped in the same way."""

PROJECT_FILE = ".pegboardignore"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a search starts and what it skips. `Scope.of()` makes one."""

    root: str
    base: str
    """The folder that rules of named files are relative to, and in which ripgrep runs."""
    chain: Chain = field(default_factory=Chain, repr=False)
    """The rules that apply to the root from its parents."""
    files: tuple[str, ...] = ()
    """Ignore files that apply below `base`: the project's and the user's."""
    parents: bool = False
    """Whether ignore files above the root apply."""
    include_ignored: bool = False
    hidden: bool = True
    named: frozenset[str] = frozenset()
    """Names that the call spells out; heavy folders among them are entered."""

    @classmethod
    def of(
        cls,
        root: str,
        *,
        project: str | None = None,
        include_ignored: bool = False,
        hidden: bool = True,
        named: Collection[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Scope:
        """The scope of a search. A root that is itself ignored was named on purpose: the rules above it do not count.

        Outside a repository ignore files count from the root on; a stray one in a home directory hides nothing.
        """
        inside = project is not None and (root == project or root.startswith(f"{project}/"))
        base = project if inside and project else root
        given = {"include_ignored": include_ignored, "hidden": hidden, "named": frozenset(named)}
        if include_ignored:
            return cls(root, base, **given)  # type: ignore[arg-type]
        repository = _repository(root)
        found = (excludes_file(os.environ if env is None else env, repository), os.path.join(base, PROJECT_FILE))
        files = tuple(path for path in found if path and os.path.isfile(path))
        chain, ignored = Chain.explicit(base, files), False
        if repository is not None:
            chain, ignored = _from_above(chain, root, base)
        elif chain.links and root != base:
            ignored = chain.ignores(root, os.path.basename(root), True)
        if ignored:
            return cls(root, base, **given)  # type: ignore[arg-type]
        return cls(root, base, chain, files, repository is not None, **given)  # type: ignore[arg-type]

    def skips(self, parent: str, name: str) -> bool:
        """Whether a folder is skipped because of its name; `parent` is the name of its parent folder."""
        if name in VCS:
            return True
        if self.include_ignored:
            return False
        return (name in HEAVY or (parent, name) in HEAVY_PATHS) and name not in self.named


def _repository(folder: str) -> str | None:
    """The nearest folder, at or above this one, that contains `.git`."""
    while True:
        if os.path.lexists(os.path.join(folder, GIT)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _from_above(chain: Chain, root: str, base: str) -> tuple[Chain, bool]:
    """The chain of all folders above the root, and whether the root is ignored by it, itself or a folder on the way."""
    names = [name for name in root.split("/") if name]
    folder, ignored = "", False
    for name in names:
        present = [special for special in (*FILES, GIT) if os.path.lexists(f"{folder}/{special}")]
        chain = chain.entering(folder or "/", present) if present else chain
        folder = f"{folder}/{name}"
        if chain.links:
            ignored = ignored or chain.ignores(folder, name, True)
        if os.path.lexists(f"{folder}/{GIT}"):
            ignored = False
    return chain, ignored
