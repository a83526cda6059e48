"""The way of a call through our files: short files, and few of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 300
LONGEST_LOOP = 280
MOST_CORE_FILES = 16
"""Thirteen are on the way of every call; the others are entered by plugins that ask the core something."""


def test_a_read_crosses_short_files_and_few_of_the_core() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/walk.py", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    walk = json.loads(done.stdout)
    long = {row["file"]: row["lines"] for row in walk["rows"] if row["lines"] > LONGEST_FILE}
    assert not long
    assert walk["groups"]["core"] <= MOST_CORE_FILES
    met = {row["file"] for row in walk["rows"]}
    assert {"core/src/pegboard/execution/dispatch.py", "plugins/files/read/src/pegboard_read/read.py"} <= met


def test_the_loop_of_a_session_stays_short() -> None:
    loop = ROOT / "plugins/host/session/src/pegboard_session/loop.py"
    assert len(loop.read_text().splitlines()) <= LONGEST_LOOP
