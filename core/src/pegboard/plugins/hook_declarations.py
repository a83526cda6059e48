"""Read the hooks that a distribution specifies, from the source of the class that its entry point names.

Nothing of it is imported: which hooks there are must not depend on which plugins are switched on.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from pegboard.errors import PluginError
from pegboard.hookspecs import CORE_HOOKS
from pegboard.plugins.builtin import is_own, normalise
from pegboard.plugins.declarations import find_file
from pegboard.reserved import HOOKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard.records import HookRecord


def specification_file(value: str, places: Sequence[str]) -> str:
    """The source file of the class that an entry point names, whether or not it is there."""
    module = value.partition(":")[0].strip()
    stem = os.path.join(*module.split("."))
    found = [find_file(name, module, places) for name in (f"{stem}.py", os.path.join(stem, "__init__.py"))]
    return next((path for path in found if os.path.isfile(path)), found[0])


def read_hooks(path: str, value: str, dist: str, taken: Mapping[str, HookRecord]) -> dict[str, HookRecord]:
    """The hooks of a class: its public methods. `PluginError` says what is wrong; `taken` are those of others."""
    class_name = value.partition(":")[2].strip()
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except OSError as error:
        raise _fault(f"{path} cannot be read: {error.strerror}. The entry point pegboard.hookspecs names it.") from None
    except (SyntaxError, ValueError) as error:
        raise _fault(f"{path} is not valid Python: {error}.") from None
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    if not found:
        reason = f"{path} has no class {class_name!r} at its top level. Name it in the entry point: module:Class."
        raise _fault(reason)
    if found[-1].bases:
        raise _fault(f"{path}: {class_name} has a base class. Hooks are read from the class itself; remove it.")
    methods = [node for node in found[-1].body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    hooks = {node.name: _hook(node, f"{path}:{node.lineno}", dist) for node in methods if node.name[0] != "_"}
    for name in hooks:
        _check_owner(name, path, dist, taken)
    return hooks


def _hook(node: ast.FunctionDef | ast.AsyncFunctionDef, where: str, dist: str) -> HookRecord:
    given = node.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    if names[:1] != ["self"]:
        raise _fault(f"{where}: the first parameter of the hook {node.name} must be self.")
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        reason = f"{where}: the hook {node.name} may have plain parameters only, no defaults, no * and no **."
        raise _fault(reason)
    return {"owner": normalise(dist), "parameters": names[1:], "awaits": isinstance(node, ast.AsyncFunctionDef)}


def _check_owner(name: str, path: str, dist: str, taken: Mapping[str, HookRecord]) -> None:
    """A name means one hook. Those of Pegboard stay its own, even where nothing installed specifies them."""
    reserved = "" if is_own(dist) else HOOKS.get(name, "")
    owner = taken[name]["owner"] if name in taken else CORE_HOOKS[name]["owner"] if name in CORE_HOOKS else reserved
    if owner:
        raise _fault(f"{path}: the hook {name} belongs to {owner}. Choose another name, such as one with your own.")


def _fault(reason: str) -> PluginError:
    return PluginError(reason, kind="bad-hooks")
