"""The kit and `pegboard check` with tools that call other tools, and with distributions of several plugins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from .venvs import write_wheel

HEAD = '''"""A tool that calls others."""

from pathlib import Path

from pegboard import Context, Input, ToolError, hookimpl, tool


async def said(ctx: Context, name: str, **given: object) -> str:
    result = await ctx.call(name, given)
    if result.is_error:
        raise ToolError(f"{name} failed: {result.text}")
    return result.text
'''
READER = '''

class HeadlineInput(Input):
    file_path: Path
    """The text file."""


@tool(read_only=True, concurrency_safe=True, open_world=False, search_hint="first line of a text file")
async def Headline(args: HeadlineInput, ctx: Context) -> str:
    """Show the first line of a text file."""
    return await said(ctx, "Read", file_path=str(args.file_path), limit=1)


@hookimpl
def register_tools():
    return [Headline]
'''
RUNNER = '''

class TallyInput(Input):
    folder: Path
    """The folder."""


@tool(read_only=True, concurrency_safe=True, open_world=False, search_hint="count the entries of a folder")
async def Tally(args: TallyInput, ctx: Context) -> str:
    """Count the entries of a folder with a command."""
    found = await said(ctx, "Bash", command="ls | wc -l")
    return f"{args.folder}: {found}"


@hookimpl
def register_tools():
    return [Tally]
'''
DELEGATE = '''

class SurveyInput(Input):
    question: str
    """What to find out."""


@tool(read_only=True, open_world=False, search_hint="ask a sub-agent about this project")
async def Survey(args: SurveyInput, ctx: Context) -> str:
    """Ask a sub-agent about this project."""
    return await said(ctx, "Agent", description="Survey", prompt=args.question or "?", subagent_type="Explore")


@hookimpl
def register_tools():
    return [Survey]
'''
SOURCES = {"Read": READER, "Bash": RUNNER, "Agent": DELEGATE}


def check(folder: Path, files: dict[str, str], entries: dict[str, str], **more: Any) -> dict[str, Any]:
    """What `pegboard check` finds in a distribution that is installed beside everything else."""
    wheel = write_wheel(folder / "wheels", "acme-nested", files, entries, **more)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-m", "pegboard_cli", "check", "acme-nested", "--json"]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1)
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize("called", SOURCES)
def test_a_tool_that_calls_another_is_held_to_the_contract(called: str, tmp_path: Path) -> None:
    files = {"acme_nested.py": HEAD + SOURCES[called]}
    found = check(tmp_path, files, {"acme.nested": "acme_nested"}, api={"1.0": "acme_nested"})
    assert found["findings"] == []


def test_a_tool_that_calls_one_that_is_not_installed_is_told_so(tmp_path: Path) -> None:
    files = {"acme_nested.py": HEAD + READER.replace('"Read"', '"Reed"')}
    found = check(tmp_path, files, {"acme.nested": "acme_nested"}, api={"1.0": "acme_nested"})
    assert any("There is no tool named 'Reed'" in row["message"] for row in found["findings"]), found


def test_one_version_of_the_api_is_said_for_all_plugins_of_a_distribution(tmp_path: Path) -> None:
    files = {"acme_nested/__init__.py": "", "acme_nested/one.py": HEAD + READER, "acme_nested/two.py": HEAD + RUNNER}
    entries = {"acme.one": "acme_nested.one", "acme.two": "acme_nested.two"}
    assert check(tmp_path, files, entries, api={"1.0": "acme_nested.one"})["findings"] == []
