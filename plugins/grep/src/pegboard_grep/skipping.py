"""Nothing was found: how much was left out? Counted only then, and only for a moment."""

from __future__ import annotations

import time

from pegboard_grep.command import Search
from pegboard_grep.paging import Skipped
from pegboard_ignore import Rules, Tally, walk

SECONDS = 0.3


def count_skipped(search: Search, skipped: Skipped) -> None:
    """Fill in what a search passed over: files that fit its globs, and whole folders."""
    rules = Rules.from_globs(search.globs)
    tally, searched = Tally(), 0
    for folder in walk(search.scope, tally, deadline=time.monotonic() + SECONDS):
        names = [name for name in folder.names if rules.keeps(folder.relative + name, name)]
        searched += len(folder.kept(names))
    skipped.searched = searched
    skipped.ignored, skipped.ignored_folders = tally.ignored_files, tally.ignored_folders
    skipped.heavy, skipped.hidden = tally.heavy, tally.hidden
    skipped.complete = not tally.timed_out
