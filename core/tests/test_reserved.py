"""The generated names: what the workspace has, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

import pegboard
from pegboard.reserved import ALIASES, DISTRIBUTIONS, GUARDS, NAMESPACES, OWNERS, PLUGINS

ROOT = Path(pegboard.__file__).parent.parent.parent.parent
SCRIPT = ROOT / "core/reserve_names.py"

pytestmark = pytest.mark.skipif(not (ROOT / "plugins").is_dir(), reason="the plugins are not beside the core here")


def test_the_file_is_what_the_script_makes_of_the_workspace():
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_name_belongs_to_a_distribution_of_the_workspace():
    assert {dist for dist, _ in PLUGINS} <= DISTRIBUTIONS
    assert set(OWNERS.values()) <= PLUGINS
    assert set(ALIASES.values()) <= set(OWNERS)
    assert set(NAMESPACES.values()) | {guard["owner"] for guard in GUARDS.values()} <= DISTRIBUTIONS


def test_the_guards_are_those_that_were_promised():
    assert {"permissions.deny", "permissions.ask", "hooks", "sandbox.enabled"} <= set(GUARDS)
    assert GUARDS["sandbox.enabled"]["plugins"] == ["policy.sandbox"]
