"""The official conformance suite drives our client, against servers of its own on the loopback address."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.node import NODE, installed

SUITE = "@modelcontextprotocol/conformance"
SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
CLIENT = Path(__file__).parent / "conformance_client.py"
SOME = ["tools_call", "sep-2322-client-request-state", "auth/scope-step-up"]
"""What the short form runs: a call, a question in the middle of a call, and a login that has to be widened."""


def conform(tmp_path, *options):
    suite = installed(f"{SUITE}@0.2.0-alpha.12") / SUITE / "dist/index.js"
    words = [NODE, suite, "client", "--command", f"{sys.executable} {CLIENT}", "--timeout", "240000"]
    made = subprocess.run([*words, "-o", tmp_path, *options], capture_output=True, text=True, cwd=tmp_path)
    return made.returncode, made.stdout + made.stderr


@pytest.mark.parametrize("scenario", SOME)
def test_some_scenarios(tmp_path, scenario):
    code, said = conform(tmp_path, "--scenario", scenario)
    assert "OVERALL: PASSED" in said, said[-3000:]
    assert code == 0


@pytest.mark.skipif(not SLOW, reason="All scenarios take some minutes: set PEGBOARD_TEST_SLOW=1")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_every_scored_scenario(tmp_path, revision):
    code, said = conform(tmp_path, "--requirements", revision)
    assert not re.findall(r"^✗.*", said, re.MULTILINE), said[-3000:]
    assert code == 0
