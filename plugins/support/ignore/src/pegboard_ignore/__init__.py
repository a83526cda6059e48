"""Ignore rules, and a directory walk that obeys them. Needs only the standard library."""

from pegboard_ignore.chain import Chain
from pegboard_ignore.gitignore import IgnoreRules
from pegboard_ignore.globs import GlobError, Matcher, expand, split_list
from pegboard_ignore.lookup import Lookup
from pegboard_ignore.scope import HEAVY, HEAVY_PATHS, VCS, Scope
from pegboard_ignore.walk import Skipped, Tally, WalkFolder, default_seconds, walk

__all__ = [
    "HEAVY",
    "HEAVY_PATHS",
    "VCS",
    "Chain",
    "GlobError",
    "IgnoreRules",
    "Lookup",
    "Matcher",
    "Scope",
    "Skipped",
    "Tally",
    "WalkFolder",
    "default_seconds",
    "expand",
    "split_list",
    "walk",
]
