"""Load one plugin, or say exactly why not. A plugin that fails affects only itself."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import sys
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pegboard.contract import TOOL_NAME, Tool
from pegboard.errors import PluginError
from pegboard.plugins.hook_checks import check_hooks, known_hooks, unspecified_hooks
from pegboard.plugins.index import is_here

if TYPE_CHECKING:
    from pegboard.records import HookRecord, PluginRecord


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plugin in memory, checked: its hooks fit, its tools can be described."""

    id: str
    dist: str
    entry: str
    family: str
    plugin: Any
    hooks: list[str]
    unspecified: list[str]
    tools: tuple[Tool[Any, Any], ...]
    origin: str
    printed: str
    ms: float


def load_plugin(
    found: PluginRecord, known: Mapping[str, HookRecord] | None = None, *, with_tools: bool = True
) -> Loaded:
    """Import, check hooks, collect tools. Everything that goes wrong is a `PluginError` with its own `kind`."""
    began = time.perf_counter()
    known = known_hooks() if known is None else known
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output), working_directory_off_the_path(found["editable"]):
        plugin, origin = _import(found)
        hooks = check_hooks(plugin, known)
        tools = _collect_tools(plugin, found) if with_tools else ()
    return Loaded(
        found["id"],
        found["dist"],
        found["entry"],
        found["family"],
        plugin,
        hooks,
        unspecified_hooks(plugin, known),
        tools,
        origin,
        output.getvalue()[:2000],
        round((time.perf_counter() - began) * 1000, 2),
    )


@contextmanager
def working_directory_off_the_path(project: str = "") -> Generator[None, None, None]:
    """While plugins are imported, the current folder cannot provide modules.

    An author may work in the very `project` that is installed editable; it then comes last, as its .pth file says.
    """
    before = list(sys.path)
    sys.path[:] = [place for place in before if not is_here(place)]
    if project:
        sys.path += [place for place in (project, os.path.join(project, "src")) if is_here(place)]
    try:
        yield
    finally:
        sys.path[:] = before


def _import(found: PluginRecord) -> tuple[Any, str]:
    module_name, _, attribute = found["value"].partition(":")
    module_name, attribute = module_name.strip(), attribute.split("[")[0].strip()
    try:
        origin = _check_origin(found, module_name)
        plugin: Any = importlib.import_module(module_name)
        for step in attribute.split(".") if attribute else ():
            plugin = getattr(plugin, step)
    except PluginError:
        raise
    except SystemExit as error:
        reason = f"{module_name} calls sys.exit({error.code!r}) when it is imported. A plugin must only define things."
        raise PluginError(reason, kind="exit-on-import", traceback=traceback.format_exc()) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a stranger's module raises, a Rust panic included: only it may suffer
        reason = f"{module_name} cannot be imported: {type(error).__name__}: {error}"
        raise PluginError(reason, kind="import-error", traceback=traceback.format_exc()) from None
    return plugin, origin


def _check_origin(found: PluginRecord, module_name: str) -> str:
    """The file that would be imported must belong to the distribution that was installed."""
    name, origin = _first_file(module_name)
    scanned = found.get("scan")
    described = scanned["origin"] if scanned else ""
    if not _belongs(origin, found) or described not in ("", origin):
        reason = f"The module {name!r} would come from {origin or 'nowhere'}, which is not part of {found['dist']}."
        raise PluginError(reason, kind="foreign-module")
    return origin


def _first_file(module_name: str) -> tuple[str, str]:
    """The first package on the way to a module that runs code of its own, and its file; namespaces have none."""
    steps = module_name.split(".")
    for depth in range(1, len(steps) + 1):
        name = ".".join(steps[:depth])
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
        if spec.origin and spec.has_location:
            return name, os.path.abspath(spec.origin)
    return module_name, ""


def _belongs(origin: str, found: PluginRecord) -> bool:
    if found["editable"]:
        return os.path.realpath(origin).startswith(found["editable"].rstrip(os.sep) + os.sep)
    # Not resolved: an installer may fill site-packages with links into its cache.
    if not origin.startswith(found["root"].rstrip(os.sep) + os.sep):
        return False
    relative = os.path.relpath(origin, found["root"])
    return not found.get("record") or any(line.startswith(f"{relative},") for line in found["record"].splitlines())


def _collect_tools(plugin: Any, found: PluginRecord) -> tuple[Tool[Any, Any], ...]:
    register = getattr(plugin, "register_tools", None)
    if register is None or not hasattr(register, "pegboard_impl"):
        return ()
    try:
        offered = register()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as on import: only this plugin may suffer
        reason = f"register_tools failed: {type(error).__name__}: {error}"
        raise PluginError(reason, kind="register-error", traceback=traceback.format_exc()) from None
    if not isinstance(offered, Sequence) or isinstance(offered, str):
        raise PluginError(f"register_tools must return a list of tools, got {offered!r}.", kind="not-a-tool")
    for tool in offered:
        check_tool(tool)
        try:
            tool.family = found["family"]
        except Exception as error:  # a property of a stranger's class
            reason = f"family of {tool.name} cannot be set: {error}. Leave it out; the entry point's name sets it."
            raise PluginError(reason, kind="bad-member", traceback=traceback.format_exc()) from None
    names = [tool.name for tool in offered]
    if twin := next((name for name in names if names.count(name) > 1), None):
        raise PluginError(f"register_tools returns two tools named {twin!r}.", kind="duplicate-tool")
    return tuple(offered)


def check_tool(tool: Any) -> None:
    """Refuse what could never be listed: not a tool, an illegal name, a schema that cannot be built."""
    if isinstance(tool, type) and issubclass(tool, Tool):
        raise PluginError(f"{tool.__name__} is a class. Return an instance: {tool.__name__}().", kind="not-a-tool")
    if not isinstance(tool, Tool):
        raise PluginError(f"{tool!r} is not a tool. Decorate it with @tool() or subclass Tool.", kind="not-a-tool")
    _check_members(tool)
    for name in (tool.name, *tool.aliases):
        if not TOOL_NAME.fullmatch(name):
            reason = f"{name!r} is not a legal tool name. Use 1 to 64 letters, digits, _ and -."
            raise PluginError(reason, kind="illegal-name")
    try:
        schema = tool.definition["input_schema"]
        _ = tool.definition_bytes
    except Exception as error:  # pydantic and json raise many kinds; each means the same to a listing
        reason = (
            f"The input schema of {tool.name} cannot be built: {type(error).__name__}: {str(error).splitlines()[0]}"
        )
        raise PluginError(reason, kind="bad-schema", traceback=traceback.format_exc()) from None
    if schema.get("type") != "object":
        reason = f"The input of {tool.name} is not an object at its top level. Put the alternatives into a field."
        raise PluginError(reason, kind="bad-schema")


TEXTS = ("name", "prompt", "search_hint", "guidance", "requires_setting")
NAME_LISTS = ("aliases", "requires_binaries", "platforms")
FLAGS = ("read_only", "concurrency_safe", "open_world", "destructive", "subagents")


def _check_members(tool: Tool[Any, Any]) -> None:
    """What a listing shows must be plain data: it is kept in the index and printed."""
    for member in (*TEXTS, *NAME_LISTS, *FLAGS, "max_result_chars"):
        try:
            wrong = _misfit(member, getattr(tool, member))
        except Exception as error:  # a property of a stranger's class
            reason = f"{member} of {type(tool).__name__} cannot be read: {type(error).__name__}: {error}"
            raise PluginError(reason, kind="bad-member", traceback=traceback.format_exc()) from None
        if wrong:
            raise PluginError(f"{member} of {type(tool).__name__} must be {wrong}.", kind="bad-member")


def _misfit(member: str, value: Any) -> str | None:
    if member in TEXTS:
        return None if isinstance(value, str) else f"text, got {value!r}"
    if member in NAME_LISTS:
        fits = isinstance(value, (tuple, list)) and all(isinstance(item, str) for item in value)
        return None if fits else f"a tuple of names, got {value!r}"
    if member in FLAGS:
        return None if isinstance(value, bool) else f"True or False, got {value!r}"
    fits = value is None or (isinstance(value, int) and not isinstance(value, bool))
    return None if fits else f"a whole number or None, got {value!r}"
