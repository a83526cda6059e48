"""What engines complain about, and the table of types that both must share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pegboard_grep
from pegboard_grep.engines import bundled
from pegboard_grep.failures import Complaints, refused, understand

sys.path.insert(0, str(Path(pegboard_grep.__file__).parent))
from types_known import TYPES

DENIED = b"rg: ./x: Permission denied (os error 13)\n"
GONE = b"rg: ./y: No such file or directory (os error 2)\n"


@pytest.mark.parametrize(
    ("errors", "code", "expected"),
    [
        (b"", 1, Complaints()),
        (DENIED + GONE, 2, Complaints(unreadable=1)),
        (DENIED, 0, Complaints(unreadable=1)),
        (b"rg: ./z: Resource temporarily unavailable (os error 11)\n", 2, Complaints(overloaded=True)),
        (
            b"rg: No files were searched, which means x.\nRunning with --debug y.\n",
            1,
            Complaints(nothing_searched=True),
        ),
        (DENIED + b"rg: regex parse error: oh", 2, Complaints(unreadable=1, fatal="rg: regex parse error: oh")),
    ],
)
def test_trouble_with_a_file_is_not_a_broken_search(errors: bytes, code: int, expected: Complaints) -> None:
    assert understand(errors, code) == expected


def test_flags_that_a_model_cannot_give_are_not_mentioned() -> None:
    words = refused(
        "rg: the literal is not allowed\n\nConsider enabling multiline mode with the --multiline flag."
    ).message
    assert "--multiline" not in words
    assert "multiline=true" in words


def test_types_mean_the_same_to_both_engines() -> None:
    listed = subprocess.run([bundled() or "rg", "--type-list"], capture_output=True, text=True, check=True).stdout
    known = {name: set(globs.split(", ")) for name, globs in (line.split(": ", 1) for line in listed.splitlines())}
    assert {name: set(globs.split()) for name, globs in TYPES.items()} == {name: known[name] for name in TYPES}
