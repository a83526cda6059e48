"""The shape of the project: who imports whom, what is public, what every hook owes its reader."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pegboard
from pegboard.hookspecs import MAY_AWAIT, NAMES, Hooks

CORE = Path(pegboard.__file__).parent
ROOT = CORE.parent.parent.parent

ORDER = [
    ("errors", "wording", "nearest"),
    ("calls",),
    ("settings",),
    ("services", "agents"),
    ("context",),
    ("sentences", "inputs", "schemas", "jsonable"),
    ("contract",),
    ("extensions",),
    ("hookspecs",),
    ("plugins",),
    ("pool",),
    ("permission",),
    ("host",),
    ("execution",),
    ("board",),
    ("session",),
    ("testing",),
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}


def imports(file):
    """The modules of the core that a file imports, wherever in the file; imports for type checkers count too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pegboard":
            yield from (
                [node.module] if node.module != "pegboard" else [f"pegboard.{alias.name}" for alias in node.names]
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pegboard")


def core_files():
    return [file for file in sorted(CORE.rglob("*.py")) if file != CORE / "__init__.py"]


@pytest.mark.parametrize("file", core_files(), ids=lambda file: str(file.relative_to(CORE)))
def test_imports_in_the_core_go_one_way(file):
    mine = file.relative_to(CORE).parts[0].removesuffix(".py")
    assert mine in RANK, f"{mine} has no place in the order of the core; add it to ORDER in {Path(__file__).name}"
    for module in imports(file):
        theirs = module.split(".")[1]
        if mine != "testing":
            assert theirs in RANK, f"{file} imports {module}"
            assert RANK[theirs] <= RANK[mine], f"{file} imports {module}, which stands above it"


def plugin_sources():
    return sorted(ROOT.glob("plugins/*/src/**/*.py"))


LIBRARIES = {"pegboard_ignore", "pegboard_media"}


@pytest.mark.skipif(not plugin_sources(), reason="the plugins are not beside the core here")
def test_no_plugin_imports_another_plugin():
    for file in plugin_sources():
        mine = file.relative_to(ROOT).parts[3]
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            tops = {name.split(".")[0] for name in names}
            foreign = {top for top in tops if top.startswith("pegboard_")} - {mine} - LIBRARIES
            assert not foreign, f"{file} imports {foreign}"


def test_the_public_names_are_these():
    assert pegboard.__all__ == sorted(
        """
        API After Agent AgentDefinition Allow Answer Ask Before Block Board Call Change Context Decision
        DefinitionError Deny Document Event Facts Image Input Output Part PegboardError PluginError
        PolicyError ProcessSpec Profile Prompted Provider ProviderError Question Result SettingsError Text
        Tool ToolError ToolSource hookimpl tool
        """.split()
    )


@pytest.mark.parametrize("name", pegboard.__all__)
def test_every_public_name_loads_and_is_documented(name):
    value = getattr(pegboard, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)


def test_no_submodule_bears_a_public_name():
    assert not {file.stem for file in CORE.iterdir()} & set(pegboard.__all__)


def test_type_checkers_see_the_same_names():
    source = (CORE / "__init__.py").read_text()
    assert sorted(re.findall(r"^    from pegboard\.\w+ import \w+ as (\w+)$", source, re.M)) == pegboard.__all__


def test_a_misspelt_name_is_refused():
    with pytest.raises(AttributeError, match="pegboard has no 'Tol'"):
        _ = pegboard.Tol


HEAVY = ("pydantic", "pluggy", "anyio", "rich", "anthropic", "httpx2", "httpx", "mcp", "importlib.metadata", "asyncio")


def test_importing_pegboard_loads_nothing_heavy():
    code = "import sys, pegboard; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(HEAVY) & set(loaded)


def test_every_name_of_the_library_leaves_out_providers_and_http():
    code = "import sys, pegboard; [getattr(pegboard, n) for n in pegboard.__all__]; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"anthropic", "httpx2", "httpx", "mcp", "rich", "http.client"} & set(loaded)


@pytest.mark.parametrize("name", NAMES)
def test_every_hook_says_when_how_and_with_an_example(name):
    hook = getattr(Hooks, name)
    text = inspect.getdoc(hook)
    first, _, rest = text.partition("\n")
    assert first.endswith((".", "?"))
    assert "Called" in rest
    assert "ay await" in rest if name in MAY_AWAIT else "may not await" in rest.lower()
    assert "Example::" in rest
    assert "@hookimpl" in rest
    for parameter in inspect.signature(hook).parameters:
        assert parameter == "self" or f":param {parameter}:" in rest


def test_every_hook_has_a_test():
    here = Path(__file__).parent
    words = "\n".join(file.read_text() for file in here.glob("test_*.py") if file.name != Path(__file__).name)
    missing = [name for name in NAMES if f"def {name}(" not in words]
    assert not missing


@pytest.mark.skipif(not (ROOT / "docs/reference/hooks.md").exists(), reason="the docs are not beside the core here")
def test_every_hook_has_a_page():
    text = (ROOT / "docs/reference/hooks.md").read_text()
    assert all(f"## {name}" in text for name in NAMES)
