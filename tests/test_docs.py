"""The pages keep their word: code blocks run, links lead somewhere, the reference is current."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pegboard import Board
from pegboard.settings import installed_keys, load
from pegboard_testing.warm import warm

from .pages import blocks, install_word_count

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*/README.md")])


HOOKS = "docs/reference/hooks.md"
AROUND_A_HOOK = '''
import shutil, sys
from dataclasses import replace
from datetime import datetime

import anyio
from pegboard import *
from pegboard import hookimpl
from pegboard.settings import Notice
from pegboard_session import AgentDefinition, Prompted, ReplayProvider, Session


class Nothing(Input):
    pass


@tool(read_only=True, open_world=False)
def WordCount(args: Nothing, ctx: Context) -> str:
    """Count the words of nothing."""
    return "0"


def refuse_at_night(tool, facts, ctx):
    return None


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
        for number, block in enumerate(blocks(page, "python")):
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
    # What is installed is the same for all blocks, so they share the index of it.
    cache = word_count.with_name("cache-of-the-blocks")
    env |= {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(word_count), "XDG_CACHE_HOME": str(cache)}
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
    for block in blocks(page, "json"):
        try:
            json.loads(block)
        except ValueError:
            for line in block.splitlines():
                json.loads(line)


def settings_blocks():
    tops = {name.partition(".")[0] for name in installed_keys()}
    for page in PAGES:
        for number, block in enumerate(blocks(page, "json")):
            if page.parent.name != "reference" and len(block.splitlines()) and tops.issuperset(first_keys(block)):
                yield pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")


def first_keys(block):
    try:
        return json.loads(block).keys()
    except ValueError:
        return {"a script, a line for each turn"}


@pytest.mark.parametrize("block", list(settings_blocks()))
def test_settings_on_a_page_are_understood(block, tmp_path):
    (tmp_path / ".pegboard").mkdir()
    (tmp_path / ".pegboard/settings.json").write_text(block)
    env = {"HOME": str(tmp_path / "home")}
    settings = load(tmp_path, env, managed=str(tmp_path / "none"), trusted=True)
    settings.require_sound()
    assert settings.notices == []
    assert [notice.message for notice in Board.load(settings=settings, env=env).pool.notices] == []


@pytest.mark.skipif(not shutil.which("jq"), reason="the script on the page uses jq")
def test_the_hook_script_on_its_page_keeps_the_file_from_being_written(tmp_path):
    page = ROOT / "docs/how-to/run-existing-hook-scripts.md"
    script, home = tmp_path / "project/hooks/protect-env.sh", tmp_path / "home"
    for path, text in ((script, blocks(page, "sh")[0]), (home / ".pegboard/settings.json", blocks(page, "json")[0])):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    script.chmod(0o755)
    codes = {}
    for name in (".env", "other.txt"):
        words = ["call", "Write", f"file_path={name}", "content=x", "--yes"]
        env = {"HOME": str(warm(home)), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", "pegboard_cli", *words]
        done = subprocess.run(command, cwd=tmp_path / "project", env=env, capture_output=True, text=True)
        codes[name] = (done.returncode, "This file is edited by hand." in done.stdout + done.stderr)
    assert codes == {".env": (3, True), "other.txt": (0, False)}


def test_the_index_lists_every_page_once():
    docs = ROOT / "docs"
    linked = re.findall(r"\]\(([^):#]+\.md)\)", (docs / "index.md").read_text())
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}
    assert sorted(linked) == sorted(pages)


def test_the_picture_of_the_architecture_is_current():
    command = [sys.executable, str(ROOT / "docs/pictures/draw.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_picture_of_the_architecture_shows_the_tree():
    rows = tomllib.loads((ROOT / "docs/pictures/architecture.toml").read_text())["row"]
    shown = {row["label"]: {name for box in row["boxes"] for name in box["name"].split(", ")} for row in rows}
    packages = {path.parent.name for path in ROOT.glob("core/src/pegboard/*/__init__.py")}
    families = {path.parent.parent.name for path in ROOT.glob("plugins/*/*/pyproject.toml")}
    assert shown["pegboard-core"] == packages
    assert shown["Tools"] | shown["Other plugins"] == families | {"yours"}


def test_the_reference_is_current():
    done = subprocess.run([sys.executable, str(ROOT / "docs/generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^\$ (python3 -m pip .*)$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci/run").read_text()
