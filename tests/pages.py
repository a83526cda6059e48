"""The commands on a page, and a shell that types them in."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .venvs import write_wheel

MARK = "=== command {} ended with {}"


@dataclass
class Step:
    """A command with the words that the page shows under it."""

    command: str
    shown: list[str] = field(default_factory=list)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)
    return found


def steps(page: Path) -> list[Step]:
    """Every command of a page."""
    found: list[Step] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line.removeprefix("$ ")))
            elif line:
                found[-1].shown.append(line)
    return found


def play(typed: Sequence[Step], env: Mapping[str, str], folder: Path, codes: Mapping[str, int] | None = None) -> None:
    """Type the commands into one shell, and see that each ends as it should and prints what is shown."""
    # Nothing comes from the standard input of the commands: there the shell reads what is typed.
    typed_lines = [f"{{ {step.command}\n}} </dev/null" for step in typed]
    lines = [f"{line}\nprintf '\\n{MARK.format(number, '%s')}\\n' $?" for number, line in enumerate(typed_lines)]
    done = subprocess.run(
        ["bash"], input="\n".join(lines), env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=280
    )
    rest = done.stdout
    for number, step in enumerate(typed):
        said, mark, rest = rest.partition(f"\n{MARK.format(number, '')}")
        code, _, rest = rest.partition("\n")
        wanted = str((codes or {}).get(step.command, 0))
        assert (bool(mark), code) == (True, wanted), f"{step.command} ended with {code}:\n{said}\n{done.stderr[-3000:]}"
        for words in step.shown:
            assert words in said, f"{step.command} does not print {words!r} but:\n{said}"


def install_word_count(site: Path) -> None:
    """Unpack the tool that `pegboard new "Word Count" --author Acme` makes into a folder for PYTHONPATH."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pegboard_cli", "new", "Word Count", "--author", "Acme", "-o", name]
        subprocess.run(command, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": name})
        source = folder / "acme-word-count/src"
        files = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*.py")}
        entries, api = {"text.word_count": "acme_word_count"}, {"1.0": "acme_word_count"}
        wheel = write_wheel(folder, "acme-word-count", files, entries, api=api)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
