"""What searches skip, and a walk that skips it. Needs nothing but the standard library."""

from pegboard_ignore.chain import Chain
from pegboard_ignore.gitignore import Rules
from pegboard_ignore.globs import GlobError, Matcher, expand, split_list
from pegboard_ignore.lookup import Lookup
from pegboard_ignore.scope import HEAVY, HEAVY_PATHS, VCS, Scope
from pegboard_ignore.walk import Folder, Tally, walk

__all__ = [
    "HEAVY",
    "HEAVY_PATHS",
    "VCS",
    "Chain",
    "Folder",
    "GlobError",
    "Lookup",
    "Matcher",
    "Rules",
    "Scope",
    "Tally",
    "expand",
    "split_list",
    "walk",
]
