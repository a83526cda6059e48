"""The pages keep their word: code blocks run, links lead somewhere, the reference is current."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import install_word_count

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")])
FENCE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


HOOKS = "docs/reference/hooks.md"
AROUND_A_HOOK = '''
import shutil, sys
from dataclasses import replace
from datetime import datetime

import anyio
from pegboard import *
from pegboard import hookimpl
from pegboard.session.loop import Session
from pegboard.session.replay import ReplayProvider


class Nothing(Input):
    pass


@tool(read_only=True, open_world=False)
def WordCount(args: Nothing, ctx: Context) -> str:
    """Count the words of nothing."""
    return "0"


class Echo:
    name = "echo"


class Clock:
    name, version = "clock", 1

    def tools(self):
        return [WordCount]


{block}

async def main():
    turns = [{{"content": [{{"type": "tool_use", "name": "Read", "input": {{"file_path": "README.md"}}}}]}}]
    turns += [{{"content": [{{"type": "text", "text": "Done."}}]}}] * 3
    board = Board.load(plugins=[sys.modules[__name__]])
    async with Session(board, ReplayProvider(turns), max_turns=3) as session:
        assert (await session.run("Go on.")).stopped_by == "end"


anyio.run(main)
'''
"""An example of a hook is part of a module: with this around it, it is a plugin in a session that calls a tool."""


def code_blocks():
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for number, block in enumerate(FENCE.findall(page.read_text())):
            yield pytest.param(name, block, id=f"{name}-{number}")


@pytest.fixture(scope="session")
def word_count(tmp_path_factory):
    site = tmp_path_factory.mktemp("word-count")
    install_word_count(site)
    return site


@pytest.mark.parametrize(("page", "block"), list(code_blocks()))
def test_code_blocks_run(page, block, tmp_path, word_count):
    for name in ("README.md", "LICENSE"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    is_test = "\ndef test_" in f"\n{block}"
    script = tmp_path / ("test_block.py" if is_test else "block.py")
    script.write_text(AROUND_A_HOOK.format(block=block) if page == HOOKS else block)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "ANTHROPIC_"))}
    env |= {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(word_count)}
    command = [sys.executable, *(["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []), str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


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
