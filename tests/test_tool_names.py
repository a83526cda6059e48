"""No tool is known by name: what rules and sessions need of a tool, the tool declares."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pegboard import Board
from pegboard.plugins.builtin import RESERVED

REPOSITORY = Path(__file__).parent.parent
SOURCES = ("core/src", "plugins/policy/rules/src", "plugins/host/session/src")
LISTS = {"builtin.py", "reserved_names.py"}
"""The files that hold the reserved names of the workspace."""

CAPABILITIES = {("subjects.py", "Read"), ("subjects.py", "Edit")}
"""Words of the rule language that are names of tools as well."""

PUBLIC = {("__init__.py", "Agent")}
"""The façade exports the class that says who calls; it has nothing to do with the tool of that name."""

FORMER = {"MultiEdit", "PowerShell"}


def literals(file: Path) -> set[str]:
    """Every text of a file that is not documentation."""
    tree = ast.parse(file.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare)
    return {node.value for node in texts if isinstance(node.value, str)}


def files() -> list[Path]:
    return [file for source in SOURCES for file in sorted((REPOSITORY / source).rglob("*.py"))]


@pytest.fixture(scope="module")
def catalogue() -> set[str]:
    return {*Board.load(env={}).pool.infos(), *RESERVED, *FORMER}


def test_the_catalogue_is_all_there(catalogue: set[str]) -> None:
    assert {"Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Task", "WebFetch", "Write"} <= catalogue
    assert len(files()) > 50


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_no_source_file_knows_a_tool_by_its_name(file: Path, catalogue: set[str]) -> None:
    if file.name in LISTS:
        return
    named = {text for text in literals(file) if text in catalogue}
    assert {name for name in named if (file.name, name) not in CAPABILITIES | PUBLIC} == set()
