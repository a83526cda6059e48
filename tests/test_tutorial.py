"""The tutorial, typed from top to bottom into a fresh shell, with nothing but a folder of wheels to install from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .venvs import REPOSITORY
from .workshop import Workshop, workshop  # noqa: F401 - a fixture

PAGE = REPOSITORY / "docs/tutorial/first-tool.md"
MARK = "=== command {} ended with {}"


def steps() -> list[tuple[str, list[str]]]:
    """Each command with the words that the page shows under it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line:
                found[-1][1].append(line)
    return found


def test_the_tutorial_has_commands_and_shows_what_they_print() -> None:
    assert len(steps()) >= 15
    assert sum(bool(shown) for _, shown in steps()) >= 6


def test_every_command_of_the_tutorial_works_as_shown(workshop: Workshop, tmp_path: Path) -> None:  # noqa: F811
    lines = [f"{command}\nprintf '\\n{MARK.format(number, '%s')}\\n' $?" for number, (command, _) in enumerate(steps())]
    env = {
        "PATH": f"{Path(sys.base_prefix, 'bin')}{os.pathsep}/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(workshop.wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        ["bash"],
        input="\n".join(lines),
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    rest = done.stdout
    for number, (command, shown) in enumerate(steps()):
        said, mark, rest = rest.partition(f"\n{MARK.format(number, '')}")
        code, _, rest = rest.partition("\n")
        assert (bool(mark), code) == (True, "0"), f"{command} ended with {code}:\n{said}\n{done.stderr[-3000:]}"
        for words in shown:
            assert words in said, f"{command} does not print {words!r} but:\n{said}"
