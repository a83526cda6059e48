"""One meaning per word: the glossary is pinned, names on pages exist, and retired words do not come back."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from .venvs import REPOSITORY

GLOSSARY = ["tool", "plugin", "distribution", "family", "board", "pool", "partition", "call", "turn", "session"]

RETIRED_NAMES = {
    "TurnSeat": "QueuedCall in execution/queue.py",
    "Desk": "ToolHost in the core, TerminalInput in the command line",
    "Heard": "CallNotes",
    "Ready": "BoundTool",
    "Compiled": "RuleSet",
    "Stray": "AbandonedThread",
    "Strays": "AbandonedThread",
    "_Errand": "ThreadCall",
    "Family": "SubAgentTree; a family is the first half of a plugin's entry-point name",
    "judged": "approved_paths",
    "beneath": "safe_open",
    "moments": "session_hooks",
    "permitting": "permission",
    "misfits": "validation",
    "Deed": "Effects",
    "deed": "effects",
    "deeds": "effects",
    "Place": "ShellState, Confinement or ProcessPaths; say what is meant",
    "Calling": "BashCall",
    "Ran": "WatchedCall or HandlerRun",
}
"""Names of classes, functions, arguments, attributes and modules, and what to use instead."""

RETIRED_MODULES = {
    "seats": "queue",
    "bound": "hooks",
    "member": "subagent",
    "children": "subagents",
    "restricted": "scoped_board",
    "selected": "run_as_agent",
    "prints": "stdout_capture",
    "positions": "line_numbers",
    "acts": "call_checks",
    "bench": "harness",
    "elsewhere": "subprocess_check",
    "subject": "case",
    "outputs": "read_output, edit_output, write_output: the name of what it holds",
    "places": "locations",
    "call_view": "match_call",
}
"""Good words, but not what to call a module."""

NOUNS_IN_ING = frozenset({"understanding", "second_reading", "hosting", "parsing", "reading", "wording"})
"""Modules whose names end like a gerund but name a thing or a step that has no better word."""

RETIRED_PHRASES = {
    r"\bnobody\b": "no one, or say it in the active voice",
    r"\bsomebody\b": "someone, or say who",
    r"\bstands? (in(?! for)|on|twice|before|behind|alone|beside|above|below)\b": "is",
    r"\b(is|are) let be\b": "is ignored",
    r"\bin silence\b": "silently",
    r"\bmuch depends on\b": "a critical path",
    r"\btools hang\b": "a plugin framework for LLM-agent tools",
    r"\bcannot be found out\b": "cannot be resolved",
    r"\bwithout further ado\b": "leave it out",
    r"\b(once|twice|one|line|object) a (call|turn|session|line|file|tool|process)\b": "per or each",
    r"\b(?<!the )(in|out)side of\b": "inside, outside",
    r"\bin the place of\b": "in place of",
    r"\btold of\b": "told about",
}
"""What a native reader stumbles over, and what to write instead."""

SOURCES = sorted([*REPOSITORY.glob("core/src/**/*.py"), *REPOSITORY.glob("plugins/*/*/src/**/*.py")])
DECLARATIONS = sorted(
    [*REPOSITORY.glob("core/src/**/pegboard.toml"), *REPOSITORY.glob("plugins/*/*/src/**/pegboard.toml")]
)
"""The settings: `pegboard settings` and the reference show what they say."""
GENERATED = "<!-- Written by docs/generate.py"
PAGES = [
    page
    for page in sorted(
        [
            *REPOSITORY.glob("docs/**/*.md"),
            *REPOSITORY.glob("plugins/*/*/README.md"),
            *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "core/README.md")),
        ]
    )
    if not page.read_text().startswith(GENERATED)
]


def defined_names(file: Path) -> Iterator[str]:
    """Every name that a file introduces; the names of others that it uses are found where they are introduced."""
    yield file.stem
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def prose(page: Path) -> str:
    """The text of a page without blocks of code and code in a sentence."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)


def where(file: Path) -> str:
    return str(file.relative_to(REPOSITORY))


def test_the_glossary_has_these_ten_words_in_this_order() -> None:
    rows = re.findall(r"^\| (\w+) \| ", (REPOSITORY / "docs/glossary.md").read_text(), re.M)
    assert rows == ["word", *GLOSSARY]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "CONTRIBUTING.md"])
def test_those_who_arrive_are_led_to_the_glossary(page: str) -> None:
    assert "glossary.md)" in (REPOSITORY / page).read_text()


def test_a_word_of_the_glossary_is_the_name_of_one_class_at_most() -> None:
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.lower() in GLOSSARY:
                classes[node.name].append(where(file))
    assert set(classes) >= {"Tool", "Board", "Pool", "Call", "Turn", "Session"}
    assert {name: files for name, files in classes.items() if len(files) > 1} == {}


def test_retired_names_do_not_come_back() -> None:
    found = {
        f"{where(file)}: {name}": RETIRED_NAMES[name]
        for file in SOURCES
        for name in defined_names(file)
        if name in RETIRED_NAMES
    }
    assert found == {}


def test_retired_modules_do_not_come_back() -> None:
    assert {where(file): RETIRED_MODULES[file.stem] for file in SOURCES if file.stem in RETIRED_MODULES} == {}


def test_a_module_is_named_after_what_it_holds_or_does() -> None:
    gerunds = {where(file) for file in SOURCES if file.stem.endswith("ing")}
    assert {name for name in gerunds if Path(name).stem not in NOUNS_IN_ING} == set()


@pytest.mark.parametrize("page", [*PAGES, *DECLARATIONS], ids=where)
def test_retired_phrases_do_not_come_back(page: Path) -> None:
    text = prose(page)
    found = {
        match.group(): instead
        for pattern, instead in RETIRED_PHRASES.items()
        for match in re.finditer(pattern, text, re.I)
    }
    assert found == {}


def test_retired_phrases_do_not_come_back_in_code() -> None:
    found = {
        f"{where(file)}:{token.start[0]}: {match.group()}": instead
        for file in SOURCES
        for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING) and token.string != '"nobody"'  # a name in the audit log
        for pattern, instead in RETIRED_PHRASES.items()
        for match in re.finditer(pattern, token.string, re.I)
    }
    assert found == {}


@pytest.mark.parametrize("page", PAGES, ids=where)
def test_a_module_that_a_page_names_exists(page: Path) -> None:
    names = re.findall(r"`(pegboard(?:_\w+)?(?:\.\w+)+)`", page.read_text())
    files_and_groups = (".toml", ".pyz", *entry_point_groups())
    assert [name for name in names if not is_there(name) and not name.endswith(files_and_groups)] == []


def entry_point_groups() -> set[str]:
    projects = (tomllib.loads(path.read_text())["project"] for path in REPOSITORY.glob("plugins/*/*/pyproject.toml"))
    return {group for project in projects for group in project.get("entry-points", {})} - {"pegboard"}


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in a module or class."""
    head, *rest = name.split(".")
    found: object = importlib.import_module(head)
    for part in rest:
        head = f"{head}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(head)
            except ImportError:
                return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=where)
def test_a_file_that_a_page_names_exists(page: Path) -> None:
    names = re.findall(r"`((?:core|docs|plugins|tests|benchmarks)/[\w./-]+\.\w+)`", page.read_text())
    assert [name for name in names if not (REPOSITORY / name).exists()] == []
