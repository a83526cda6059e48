"""Build the command for one search: flags for ripgrep, or a job for the Python engine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pegboard_ignore
from pegboard import ProcessSpec
from pegboard_grep.engines import Engine
from pegboard_ignore import HEAVY, HEAVY_PATHS, VCS, Scope

LISTING = "files"
"""The mode that opens no file: it lists those that a search would open."""
MODES = {"files_with_matches": "--files-with-matches", "count": "--count", LISTING: "--files"}


@dataclass(frozen=True, slots=True)
class Search:
    """What to search for and how, for either engine."""

    pattern: str
    scope: Scope
    file: str = ""
    """The one file to search, an absolute path, when no folder was given."""
    mode: str = "files_with_matches"
    globs: tuple[str, ...] = ()
    type: str = ""
    ignore_case: bool = False
    only_matching: bool = False
    multiline: bool = False
    fixed: bool = False
    before: int = 0
    after: int = 0
    left_out: tuple[str, ...] = ()
    """Files and folders that must not be opened, relative to the folder in which the engine runs."""

    @property
    def place(self) -> str:
        """The search path, relative to the folder in which the engine runs."""
        if self.file:
            return f"./{os.path.basename(self.file)}"
        inner = self.scope.root[len(self.scope.base) :].strip("/")
        return f"./{inner}/" if inner else "./"

    def spec(self, engine: Engine, seconds: float, *, threads: int = 0) -> ProcessSpec:
        """The command to run."""
        where = Path(os.path.dirname(self.file) if self.file else self.scope.base)
        flags = _ripgrep(self, threads) if engine.is_ripgrep else ()
        stdin = None if engine.is_ripgrep else _job(self)
        return ProcessSpec(
            argv=(*engine.argv, *flags), cwd=where, stdin=stdin, network=False, timeout=seconds, keep_output=False
        )


def _ripgrep(search: Search, threads: int) -> tuple[str, ...]:
    scope = search.scope
    flags = ["--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--no-require-git"]
    flags += [MODES[search.mode]] if search.mode in MODES else ["--line-number", "--column"]
    flags += ["--hidden"] if scope.hidden else []
    flags += ["--ignore-case"] if search.ignore_case else ["--case-sensitive"]
    flags += ["--fixed-strings"] if search.fixed else []
    flags += ["--multiline", "--multiline-dotall"] if search.multiline else ["--crlf"]
    if search.mode == "content":
        flags += ["--only-matching"] if search.only_matching else _context(search)
    flags += [f"--type={search.type}"] if search.type else []
    flags += [f"--threads={threads}"] if threads else []
    flags += _ignoring(scope)
    if not search.type:  # Ripgrep lets a glob override the type; with both, globs are applied later.
        flags += [f"--glob={_from_base(glob, scope)}" for glob in search.globs]
    if not search.file:
        flags += [f"--glob=!{name}" for name in _skipped_names(scope)]
    # The last matching glob decides, so no glob of the call can re-include these.
    flags += [f"--glob=!/{_literal(path)}" for path in search.left_out]
    pattern = () if search.mode == LISTING else ("-e", search.pattern)
    return (*flags, *pattern, "--", search.place)


def _context(search: Search) -> list[str]:
    before = [f"--before-context={search.before}"] if search.before else []
    return before + ([f"--after-context={search.after}"] if search.after else [])


def _ignoring(scope: Scope) -> list[str]:
    if scope.include_ignored:
        return ["--no-ignore"]
    # Our lookup also honours a repository's own core.excludesFile and GIT_CONFIG_GLOBAL; ripgrep's does not.
    flags = ["--no-ignore-global", *(f"--ignore-file={path}" for path in scope.files)]
    return flags if scope.parents else [*flags, "--no-ignore-parent"]


def _skipped_names(scope: Scope) -> list[str]:
    names = sorted(VCS)
    if not scope.include_ignored:
        names += sorted(HEAVY - scope.named)
        names += [f"**/{above}/{name}" for above, name in HEAVY_PATHS if name not in scope.named]
    return names


def _from_base(glob: str, scope: Scope) -> str:
    """Rewrite a glob with a slash: it is relative to the searched folder, but ripgrep reads it from where it runs."""
    negated, text = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    inner = scope.root[len(scope.base) :].strip("/")
    if not inner or "/" not in text.rstrip("/"):
        return glob
    return f"{negated}/{_literal(inner)}/{text.removeprefix('/')}"


def _literal(path: str) -> str:
    """A path as a glob. Ripgrep accepts only text, so a byte that is not text becomes a wildcard."""
    signs = (f"\\{sign}" if sign in "*?[]{}\\!" else "?" if "\udc80" <= sign <= "\udcff" else sign for sign in path)
    return "".join(signs)


def _job(search: Search) -> bytes:
    scope = search.scope
    library = os.path.dirname(os.path.dirname(os.path.abspath(pegboard_ignore.__file__)))
    job = {
        "library": library,
        "root": scope.root,
        "base": scope.base,
        "include_ignored": scope.include_ignored,
        "hidden": scope.hidden,
        "named": sorted(scope.named),
        "file": search.file,
        "pattern": search.pattern,
        "mode": search.mode,
        "globs": search.globs,
        "type": search.type,
        "ignore_case": search.ignore_case,
        "only_matching": search.only_matching,
        "multiline": search.multiline,
        "fixed": search.fixed,
        "before": search.before,
        "after": search.after,
        "left_out": search.left_out,
    }
    return json.dumps(job).encode("ascii")
