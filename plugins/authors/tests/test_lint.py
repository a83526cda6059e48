"""`pegboard check --no-contract` on small plugins, each with one thing left undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = '''
from pegboard import Context, Input, hookimpl, tool


class HelloInput(Input):
    who: str
    """Whom to greet."""


@tool(read_only=True, open_world=False, search_hint="greet somebody by name")
def Hello(args: HelloInput, ctx: Context) -> str:
    """Greet somebody by name."""
    return f"Hello {args.who}."


@hookimpl
def register_tools():
    return [Hello]
'''


def check(folder: Path, source: str, entry: str = "acme.hello", api: str = "1.0") -> tuple[int, set[tuple[str, str]]]:
    """Install a plugin of one module beside everything else, and check it."""
    info = folder / "site/acme_hello-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "site/acme_hello.py").write_text(source)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-hello\nVersion: 1.0\n")
    (info / "RECORD").write_text("acme_hello.py,,\n")
    wanted = f"[pegboard.requires_api]\n{api} = acme_hello\n" if api else ""
    (info / "entry_points.txt").write_text(f"[pegboard]\n{entry} = acme_hello\n{wanted}")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-m", "pegboard_cli", "check", "acme-hello", "--no-contract", "--json"]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, {(row["rule"], row["where"]) for row in json.loads(done.stdout)["findings"]}


def test_a_plugin_with_nothing_left_undone_has_no_findings(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD) == (0, set())


UNDONE = {
    "no prompt": (GOOD.replace('"""Greet somebody by name."""', ""), ("docs", "Hello")),
    "a field without words": (GOOD.replace('    """Whom to greet."""\n', ""), ("docs", "Hello.who")),
    "no search hint": (GOOD.replace(', search_hint="greet somebody by name"', ""), ("docs", "Hello")),
    "an endless prompt": (GOOD.replace("Greet somebody by name.", "Greet. " * 2000), ("prompt-size", "Hello")),
    "open world by default": (GOOD.replace("open_world=False, ", ""), ("unsafe-default", "Hello")),
    "nothing declared": (GOOD.replace("read_only=True, open_world=False, ", ""), ("unsafe-default", "Hello")),
    "safe writers": (GOOD.replace("read_only=True", "concurrency_safe=True"), ("unsafe-default", "Hello")),
    "a built-in's name": (GOOD.replace("Hello(", "Bash(").replace("[Hello]", "[Bash]"), ("name-clash", "Bash")),
    "a slow import": (f"import time\ntime.sleep(0.3)\n{GOOD}", ("import-cost", "acme.hello")),
    "a heavy import": (f"import rich\n{GOOD}", ("heavy-import", "acme.hello")),
    "a broken import": (f"import no_such_module\n{GOOD}", ("import-error", "acme.hello")),
    "an unknown hook": (f"{GOOD}\n@hookimpl\ndef register_tolls(): ...\n", ("unknown-hook", "acme.hello")),
}


@pytest.mark.parametrize("case", UNDONE)
def test_each_thing_left_undone_is_the_one_finding(case: str, tmp_path: Path) -> None:
    source, finding = UNDONE[case]
    assert source != GOOD
    assert check(tmp_path, source) == (1, {finding})


def test_a_plugin_that_does_not_say_its_api_is_found(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD, api="") == (1, {("requires-api", "acme.hello")})


def test_an_entry_without_a_family_is_found(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD, entry="hello") == (1, {("no-family", "hello")})


def test_a_tool_in_a_family_without_tools_is_found(tmp_path: Path) -> None:
    code, found = check(tmp_path, GOOD, entry="providers.hello")
    assert (code, ("entry-name", "providers.hello") in found) == (1, True)
