"""The tutorial, typed from top to bottom into a fresh shell, with nothing but a folder of wheels to install from."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .pages import play, steps
from .venvs import REPOSITORY
from .workshop import Workshop, workshop  # noqa: F401 - a fixture

PAGE = REPOSITORY / "docs/tutorial/first-tool.md"


def test_the_tutorial_has_commands_and_shows_what_they_print() -> None:
    assert len(steps(PAGE)) >= 15
    assert sum(bool(step.shown) for step in steps(PAGE)) >= 6


def test_every_command_of_the_tutorial_works_as_shown(workshop: Workshop, tmp_path: Path) -> None:  # noqa: F811
    env = {
        "PATH": f"{Path(sys.base_prefix, 'bin')}{os.pathsep}/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(workshop.wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    (tmp_path / "home").mkdir()
    play(steps(PAGE), env, tmp_path)
