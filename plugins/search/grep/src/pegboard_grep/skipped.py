"""Count what a search without results skipped, within a short time limit."""

from __future__ import annotations

import os
import time

from pegboard_grep.command import Search
from pegboard_grep.denied_files import Readable
from pegboard_grep.grep_output import SkippedInFiles
from pegboard_ignore import IgnoreRules, Tally, walk

SECONDS = 0.3


def count_skipped(search: Search, skipped: SkippedInFiles, may_show: Readable) -> None:
    """Count what a search skipped: files that match its globs, and whole folders. Withheld files do not count."""
    rules = IgnoreRules.from_globs(search.globs)
    tally, searched = Tally(), 0
    for folder in walk(search.scope, tally, deadline=time.monotonic() + SECONDS):
        names = [name for name in folder.names if rules.keeps(folder.relative + name, name)]
        searched += len(folder.kept([name for name in names if may_show(os.path.join(folder.path, name))]))
    skipped.searched = searched
    skipped.count(tally)
    skipped.complete = not tally.timed_out
