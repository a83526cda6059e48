"""`pegboard check --no-contract` on small plugins, each with one thing left undone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
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


def install(folder: Path, source: str, name: str = "acme-hello", entry: str = "acme.hello", api: str = "1.0") -> None:
    """Install a plugin of one module beside everything else."""
    module = name.replace("-", "_")
    info = folder / f"site/{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"site/{module}.py").write_text(source)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{module}.py,,\n")
    wanted = f"[pegboard.requires_api]\n{api} = {module}\n" if api else ""
    (info / "entry_points.txt").write_text(f"[pegboard]\n{entry} = {module}\n{wanted}")


def start(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-m", "pegboard_cli", "check", *words]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)


def check(folder: Path, source: str, entry: str = "acme.hello", api: str = "1.0") -> tuple[int, set[tuple[str, str]]]:
    install(folder, source, entry=entry, api=api)
    done = start(folder, "acme-hello", "--no-contract", "--json")
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


@pytest.mark.sample(2)
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


POLICY = """
from pegboard import hookimpl


@hookimpl
def check_permission(facts):
    return None
"""
PROVIDER = """
from pegboard import hookimpl


@hookimpl
def register_providers():
    return []
"""


@pytest.mark.parametrize(("entry", "source"), [("policy.hello", POLICY), ("providers.hello", PROVIDER)])
def test_a_policy_and_a_provider_belong_to_their_families(entry: str, source: str, tmp_path: Path) -> None:
    assert check(tmp_path, source, entry=entry) == (0, set())


@pytest.mark.parametrize(
    ("entry", "source", "finding"),
    [
        ("providers.hello", POLICY, ("entry-name", "providers.hello")),
        ("policy.hello", "", ("no-hooks", "policy.hello")),
        ("policy.hello", GOOD, ("entry-name", "policy.hello")),
    ],
)
def test_a_plugin_that_does_not_bring_what_its_family_holds_is_found(
    entry: str, source: str, finding: tuple[str, str], tmp_path: Path
) -> None:
    assert check(tmp_path, source, entry=entry) == (1, {finding})


COMMAND = """
import argparse


def run(words):
    argparse.ArgumentParser("pegboard greet").parse_args(words)
    return 0
"""
COMMANDS = {
    "a good one": ("greet", COMMAND, set()),
    "one of ours": ("tools", COMMAND, {("name-clash", "tools")}),
    "no such function": ("greet", "", {("command-help", "greet")}),
    "no help": ("greet", "def run(words):\n    return 0\n", {("command-help", "greet")}),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", COMMANDS)
def test_a_command_can_be_reached_and_explains_itself(case: str, tmp_path: Path) -> None:
    name, source, findings = COMMANDS[case]
    install(tmp_path, source)
    info = tmp_path / "site/acme_hello-1.0.dist-info/entry_points.txt"
    info.write_text(f"[pegboard.commands]\n{name} = acme_hello:run\n")
    done = start(tmp_path, "acme-hello", "--json")
    found = {(row["rule"], row["where"]) for row in json.loads(done.stdout)["findings"]}
    assert (done.returncode, found) == (1 if findings else 0, findings)


NAMED = {
    "a name in the prompt": GOOD.replace("Greet somebody by name.", "Greet who by name."),
    "choices in the prompt": GOOD.replace("who: str", 'who: Literal["Ada", "Bob"]').replace("somebody", "Ada or Bob"),
    "a flag": GOOD.replace("who: str", 'who: Annotated[str, Field(alias="-w")]'),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", NAMED)
def test_a_field_needs_no_words_of_its_own_where_the_model_knows_it(case: str, tmp_path: Path) -> None:
    imports = "from typing import Annotated, Literal\nfrom pydantic import Field\n"
    source = imports + NAMED[case].replace('    """Whom to greet."""\n', "")
    assert check(tmp_path, source) == (0, set())


def test_a_tool_with_the_name_of_another_authors_is_found(tmp_path: Path) -> None:
    install(tmp_path, GOOD, name="other-hello", entry="other.hello")
    assert check(tmp_path, GOOD) == (1, {("name-clash", "Hello")})


def test_in_words_there_is_a_line_for_each_cause_and_the_import_cost(tmp_path: Path) -> None:
    install(tmp_path, GOOD.replace("read_only=True, open_world=False", "read_only=True"))
    done = start(tmp_path, "acme-hello")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0].endswith("Set open_world=False if the tool stays local. [unsafe-default]")
    assert lines[1].startswith("Hello: Hello was not run: its facts say that it is open-world")
    assert lines[1].endswith("contract:timeout, contract:concurrency]")
    assert re.fullmatch(r"acme-hello: 2 findings; acme\.hello imports in \d+ ms\.", lines[2])


def test_one_finding_is_one_finding(tmp_path: Path) -> None:
    install(tmp_path, GOOD, api="")
    assert "acme-hello: 1 finding; acme.hello imports in " in start(tmp_path, "acme-hello", "--no-contract").stdout


OWN = sorted(
    path.parent
    for path in Path(__file__).parents[3].glob("*/*/pyproject.toml")
    if "pegboard" in tomllib.loads(path.read_text())["project"].get("entry-points", {})
)


@pytest.mark.sample(6)
@pytest.mark.parametrize("project", OWN, ids=lambda project: project.name)
def test_our_own_plugins_have_no_findings(project: Path, tmp_path: Path) -> None:
    """The promises of their tools are tests of their own; PEGBOARD_TEST_SLOW=1 lets the command check them too."""
    done = start(tmp_path, str(project), *([] if os.environ.get("PEGBOARD_TEST_SLOW") else ["--no-contract"]))
    assert done.returncode == 0, done.stdout
