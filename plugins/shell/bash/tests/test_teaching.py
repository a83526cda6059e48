"""A plugin of somebody else teaches a program: the one in the documentation, installed and run as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_bash.examples import wrong_examples
from pegboard_bash.programs import Program

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "how-bash-is-understood.md"


@pytest.fixture
def run(tmp_path):
    """Run `pegboard` with the documented plugin installed beside it; more code may be added to the plugin."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    package, info = tmp_path / "acme_tools", tmp_path / "acme_tools-1.0.dist-info"
    for folder in (package, info, tmp_path / "project", tmp_path / "home"):
        folder.mkdir()
    (package / "__init__.py").write_text(found[1])
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nshell.acme = acme_tools\n")
    home = str(tmp_path / "home")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home}

    def run(*words: str, more: str = "") -> str:
        with (package / "__init__.py").open("a") as file:
            file.write(more)
        command = [sys.executable, "-m", "pegboard_cli", *words]
        return subprocess.run(command, cwd=tmp_path / "project", env=env, capture_output=True, text=True).stdout

    return run


def reason(run, command: str) -> str:
    return json.loads(run("why", "Bash", f"command={command}", "--json"))["reason"]


def test_a_plugin_teaches_its_program_in_every_session(run):
    for _ in range(2):  # The second time the plugin is known from the index.
        assert reason(run, "acme status --json") == "It only reads."
        assert reason(run, "acme deploy") == "acme deploy may change something."
        assert reason(run, "acme status --fix") == "The option --fix of acme status may change something."
        assert reason(run, "acme pack x") == "acme pack only reads with -l or a similar option."


def test_a_plugin_does_not_replace_what_the_table_knows(run):
    run("plugins", more='\nregister_programs({"rm": Program("", "text*")})\n')
    assert reason(run, "rm x") == "rm deletes files."


def test_a_plugin_replaces_what_the_table_knows_when_it_says_so(run):
    run("plugins", more='\nregister_programs({"hostname": Program("", "text*")}, replace=True)\n')
    assert reason(run, "hostname x") == "It only reads."


def test_the_doctor_reports_examples_that_are_judged_otherwise(run):
    assert "acme status" not in run("doctor")
    more = '\nPROGRAMS["ls"] = Program(reads=("ls --nonsense",), asks=("ls",))\n'
    said = run("doctor", more=more)
    assert "ls --nonsense: should be read-only, but: The option --nonsense of ls may change something" in said
    assert "ls: should ask, but is considered read-only." in said


def test_a_program_without_examples_is_reported():
    assert wrong_examples({"acme": Program("-v")}) == ["acme: give at least one example in `reads` and one in `asks`."]
