"""Imports are at the top of a module. One inside a function has its reason next to it, and there are few of them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from .venvs import REPOSITORY

SOURCES = sorted([*REPOSITORY.glob("core/src/**/*.py"), *REPOSITORY.glob("plugins/*/*/src/**/*.py")])
MOST_PER_THOUSAND_LINES = 3
SHORTEST_REASON = 5
"""Words of the reason of a whole module."""
FOR_START_UP = "# Imports happen inside functions:"
"""A line that says for a whole module why: a start-up test fails, or a listing gets slow, with them at the top."""
REASON = re.compile(r"#(?! *(?:type: ignore|noqa|pragma|pyright)\b)[^#]*\w")
"""A comment that is more than a word to a linter."""


@cache
def late_imports(file: Path) -> tuple[tuple[int, bool], ...]:
    """The lines of imports inside functions, and whether a comment on the line, or above the block, says why."""
    text = file.read_text()
    lines = text.splitlines()
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    imports = {n.lineno for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)}
    found = list[tuple[int, bool]]()
    for line in sorted(imports):
        first = line
        while first - 1 in imports:
            first -= 1
        around = lines[first - 2 : line]
        found.append((line, any(REASON.search(each) for each in around)))
    return tuple(found)


def is_for_start_up(file: Path) -> bool:
    return any(line.startswith(FOR_START_UP) for line in file.read_text().splitlines())


def test_an_import_inside_a_function_says_why() -> None:
    unexplained = [
        f"{file.relative_to(REPOSITORY)}:{line}"
        for file in SOURCES
        if not is_for_start_up(file)
        for line, has_reason in late_imports(file)
        if not has_reason
    ]
    assert unexplained == []


def test_few_imports_are_inside_functions() -> None:
    counted = [file for file in SOURCES if not is_for_start_up(file)]  # The lines of the others do not count either.
    late = sum(len(late_imports(file)) for file in counted)
    lines = sum(len(file.read_text().splitlines()) for file in counted)
    assert 1000 * late / lines <= MOST_PER_THOUSAND_LINES


def test_a_module_that_imports_late_for_start_up_does_so_and_says_why() -> None:
    unused = [file for file in SOURCES if is_for_start_up(file) and not late_imports(file)]
    silent = [
        file
        for file in SOURCES
        for line in file.read_text().splitlines()
        if line.startswith(FOR_START_UP) and len(line.removeprefix(FOR_START_UP).split()) < SHORTEST_REASON
    ]
    assert (unused, silent) == ([], [])
