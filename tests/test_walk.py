"""The way of a call through our files: short files, and few of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 300
LONGEST_LOOP = 280
MOST_ON_THE_WAY = 9
"""Files of core and session that hold a call while it travels; `benchmarks/walk.py` says what that means.

A plugin that wraps execution adds its own."""
MOST = {"core": 14, "session": 9, "policy": 8}
"""Files that are entered at all. Other plugins enter theirs too: how many depends on what is installed."""


def test_a_read_crosses_few_and_short_files() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/walk.py", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    walk = json.loads(done.stdout)
    long = {row["file"]: row["lines"] for row in walk["rows"] if row["lines"] > LONGEST_FILE}
    assert not long
    on_the_way = {row["file"] for row in walk["rows"] if row["on_the_way"] and row["group"] in ("core", "session")}
    assert len(on_the_way) <= MOST_ON_THE_WAY, on_the_way
    assert {group: walk["groups"][group] for group in MOST if walk["groups"][group] > MOST[group]} == {}
    met = {row["file"] for row in walk["rows"]}
    assert {"core/src/pegboard/execution/dispatch.py", "plugins/files/read/src/pegboard_read/read.py"} <= met
    assert "core/src/pegboard/execution/dispatch.py" in on_the_way


def test_the_loop_of_a_session_stays_short() -> None:
    loop = ROOT / "plugins/host/session/src/pegboard_session/loop.py"
    assert len(loop.read_text().splitlines()) <= LONGEST_LOOP
