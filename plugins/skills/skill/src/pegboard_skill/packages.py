"""Skills of installed distributions: an entry point in the group `pegboard.skills` names a package with skill folders.

Nothing is imported to find them. What was found is kept until something is installed or removed.
"""

from __future__ import annotations

import os
import sys

from pegboard_skill.skill_index import SkillIndex

GROUP = "pegboard.skills"
KEY = "entry points"


def package_folders(index: SkillIndex) -> list[tuple[str, str]]:
    """The folders with the distribution that each belongs to."""
    stamp = [[path, os.stat(path).st_mtime_ns] for path in sys.path if path and os.path.isdir(path)]
    kept = index.value(KEY, stamp)
    if kept is None:
        kept = _find()
        index.keep(KEY, stamp, kept)
    return [(str(dist), str(folder)) for dist, folder in kept]


def _find() -> list[list[str]]:
    from importlib.metadata import entry_points  # It reads the metadata of everything: only after a change.

    found: list[list[str]] = []
    for point in sorted(
        entry_points(group=GROUP), key=lambda point: (point.dist.name if point.dist else "", point.name)
    ):
        part = os.path.join(*point.value.replace(":", ".").split("."))
        places = [str(point.dist.locate_file(part))] if point.dist else []
        places += [os.path.join(path, part) for path in sys.path if path]
        folder = next((place for place in places if os.path.isdir(place)), "")
        if folder:
            found.append([point.dist.name if point.dist else point.name, folder])
    return found
