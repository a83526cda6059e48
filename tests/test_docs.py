"""The pages keep their word: code blocks run, links lead somewhere, the reference is current."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")])
FENCE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def code_blocks():
    for page in PAGES:
        if page.name != "hooks.md":  # Those examples are parts of a module; core/tests/test_hooks.py runs their likes.
            for number, block in enumerate(FENCE.findall(page.read_text())):
                yield pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")


@pytest.mark.parametrize("block", list(code_blocks()))
def test_code_blocks_run(block, tmp_path):
    for name in ("README.md", "LICENSE"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    script = tmp_path / "block.py"
    script.write_text(block)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "ANTHROPIC_"))}
    env["HOME"] = str(tmp_path / "home")
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_json_blocks_are_json(page):
    import json

    for block in re.findall(r"^```json\n(.*?)^```", page.read_text(), re.M | re.S):
        try:
            json.loads(block)
        except ValueError:
            for line in block.splitlines():
                json.loads(line)


def test_the_reference_is_current():
    done = subprocess.run([sys.executable, str(ROOT / "docs/generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^\$ (python3 -m pip .*)$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci/run").read_text()
