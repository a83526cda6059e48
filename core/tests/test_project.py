"""The shape of the project: who imports whom, what is public, what every hook owes its reader."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import pegboard
from pegboard.hookspecs import CORE_HOOKS, Hooks
from pegboard.plugins.hook_checks import check_hooks
from pegboard.reserved import DISTRIBUTIONS

CORE = Path(pegboard.__file__).parent
ROOT = CORE.parent.parent.parent

ORDER = [
    ("errors", "wording", "paths", "records", "reserved"),
    ("calls", "forms"),
    ("content",),
    ("settings",),
    ("context",),
    ("sentences", "inputs", "schemas"),
    ("contract",),
    ("function_tool",),
    ("extensions",),
    ("hookspecs",),
    ("plugins",),
    ("pool",),
    ("permission",),
    ("execution",),
    ("loaded_plugins",),
    ("board", "hosting"),
]
EXCEPTIONS = {
    ("settings.py", "pegboard.plugins.index"),
    ("settings.py", "pegboard.plugins.declarations"),
}
"""Which settings there are is in the index of what is installed, and settings are read before any plugin is."""

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
        if (str(file.relative_to(CORE)), module) in EXCEPTIONS:
            continue
        if mine != "testing":
            assert theirs in RANK, f"{file} imports {module}"
            assert RANK[theirs] <= RANK[mine], f"{file} imports {module}, which stands above it"


def test_settings_know_nothing_of_the_core_and_the_core_needs_no_other_library():
    library = ROOT / "plugins/support/settings/src"
    assert not {module for file in library.rglob("*.py") for module in imports(file)}
    named = {name for file in core_files() for name in re.findall(r"^from (pegboard_\w+)", file.read_text(), re.M)}
    assert named == {"pegboard_settings"}


def plugin_sources():
    return sorted(ROOT.glob("plugins/*/*/src/**/*.py"))


LIBRARIES = {
    *(
        "pegboard_confine",
        "pegboard_definitions",
        "pegboard_external",
        "pegboard_files",
        "pegboard_hosts",
        "pegboard_http",
    ),
    *("pegboard_ignore", "pegboard_media", "pegboard_processes", "pegboard_rules", "pegboard_session"),
    *("pegboard_settings", "pegboard_testing", "pegboard_trust", "pegboard_worktrees", "pegboard_cli"),
}


@pytest.mark.skipif(not plugin_sources(), reason="the plugins are not beside the core here")
def test_no_plugin_imports_another_plugin():
    for file in plugin_sources():
        mine = file.relative_to(ROOT).parts[4]
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            tops = {name.split(".")[0] for name in names}
            foreign = {top for top in tops if top.startswith("pegboard_")} - {mine} - LIBRARIES
            assert not foreign, f"{file} imports {foreign}"


PUBLIC = {
    "pegboard": """
        API After Agent Allow Answer Ask Before Block Board BoardOptions Call Change Choice Context
        Decision DefinitionError Deny Document Entry Event ExternalTool Facts Fine FormField Image Input JSON Mode Model
        Notice Output Part PegboardError PluginError PolicyError Pool ProcessSpec Profile Progress
        ProviderError Question ResolvedPath Result Services Settings SettingsError
        Text Tool ToolCatalog ToolError ToolInfo ToolSource Turn TurnOptions
        canonical content_block hookimpl jsonable put_question resolve_path strictest tool tool_result
        """,
    "pegboard.hosting": """
        ALIASES AbandonedThreads Absent BY_FULL_NAME BoundHooks BoundTool CODES CallRun CommandRecord Discovery
        Entry FAMILIES Features GUARDS HOOKS Implementation Limits Loaded OWNERS PluginRecord Pool RESERVED
        ResultsStore STOP ScanRecord ToolHost ToolRecord assemble consider discover dispatch_nested edited TOOL_NAME
        fingerprint fitting guard_problems index_file is_builtin is_own is_here load_index load_plugin
        maybe_await normalise owner_of
        plugin_roots refuse_unknown run_calls runner text_size turn_options validate
        """,
    "pegboard.permission": """
        Modes READS SAFETY WorkingDirectories both_spellings by_facts by_paths decide may_classify
        name_matches rule_text split_rule with_paths
        """,
    "pegboard.settings": """
        BAKED FOLDER FOLDERS FROM_REPOSITORY Key Keys Layer MANAGED Notice Settings baked_file cache_dir home
        installed_keys lines_of load parse private_folder project_root read_values
        state_dir working_directory
        """,
    "pegboard.wording": "counted did_you_mean listed nearest on_one_line shown",
}
"""The contract: what plugins, ours and those of others, may import from the core."""


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module):
    assert sorted(import_module(module).__all__) == sorted(PUBLIC[module].split())


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in PUBLIC for name in PUBLIC[module].split()])
def test_every_public_name_loads_and_is_documented(module, name):
    value = getattr(import_module(module), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)


@pytest.mark.skipif(not plugin_sources(), reason="the plugins are not beside the core here")
def test_plugins_import_public_names_of_the_core_only():
    for file in plugin_sources():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pegboard":
                names = {alias.name for alias in node.names}
                assert node.module in PUBLIC, f"{file}:{node.lineno} imports {node.module}, which is not public"
                hidden = names - set(PUBLIC[node.module].split())
                assert not hidden, f"{file}:{node.lineno} imports {hidden} from {node.module}, which are not public"
            elif isinstance(node, ast.Import):
                deep = {alias.name for alias in node.names if alias.name.startswith("pegboard.")} - set(PUBLIC)
                assert not deep, f"{file}:{node.lineno} imports {deep}, which are not public"


def test_no_submodule_bears_a_public_name():
    assert not {file.stem for file in CORE.iterdir()} & set(pegboard.__all__)


@pytest.mark.parametrize(("file", "module"), [("__init__.py", "pegboard"), ("hosting.py", "pegboard.hosting")])
def test_type_checkers_see_the_same_names(file, module):
    block = next(node for node in ast.parse((CORE / file).read_text()).body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    for node in block.body:
        if isinstance(node, ast.Assign):
            seen |= {name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)}
    assert sorted(name for name in seen if not name.startswith("_")) == import_module(module).__all__


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


SPECIFIED = {
    name: hook
    for specs in (Hooks, *(e.load() for e in entry_points(group="pegboard.hookspecs") if e.dist.name in DISTRIBUTIONS))
    for name, hook in vars(specs).items()
    if not name.startswith("_")
}
"""The hooks of the core and of the distributions of Pegboard that are beside it."""


@pytest.mark.parametrize("name", SPECIFIED)
def test_every_hook_says_when_how_and_with_an_example(name):
    hook = SPECIFIED[name]
    text = inspect.getdoc(hook)
    first, _, rest = text.partition("\n")
    assert first.endswith((".", "?"))
    assert "Called" in rest
    assert "May await" in rest if inspect.iscoroutinefunction(hook) else "may not await" in rest.lower()
    if name not in CORE_HOOKS:
        assert "Example::" in rest
        assert "@hookimpl" in rest
    for parameter in inspect.signature(hook).parameters:
        assert parameter == "self" or f":param {parameter}:" in rest


EXAMPLES = ROOT / "docs/hook_examples.py"


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the docs are not beside the core here")
def test_the_examples_are_a_plugin_with_every_hook_of_the_core():
    spec = spec_from_file_location("hook_examples", EXAMPLES)
    examples = module_from_spec(spec)
    spec.loader.exec_module(examples)
    assert check_hooks(examples, CORE_HOOKS) == sorted(CORE_HOOKS)


def test_the_core_specifies_no_hook_of_a_session():
    assert len(CORE_HOOKS) == len([name for name in vars(Hooks) if not name.startswith("_")]) > 20
    assert not [name for name in CORE_HOOKS if re.search("session|provider|agent|prompt|stop", name)]


def test_every_hook_has_a_test():
    files = [
        *ROOT.glob("core/tests/test_*.py"),
        *ROOT.glob("plugins/*/*/tests/test_*.py"),
        *ROOT.glob("tests/test_*.py"),
    ]
    words = "\n".join(file.read_text() for file in files if file != Path(__file__))
    missing = [name for name in SPECIFIED if f"def {name}(" not in words]
    assert not missing


@pytest.mark.skipif(not (ROOT / "docs/reference/hooks.md").exists(), reason="the docs are not beside the core here")
def test_every_hook_has_a_page():
    text = (ROOT / "docs/reference/hooks.md").read_text()
    assert all(f"## {name}" in text for name in SPECIFIED)
