"""Which hooks there are, and whether those of a plugin fit them.

A distribution specifies hooks with a class that its entry point names. It is read from its source and not imported:
which hooks there are must not depend on which plugins are switched on.
"""

from __future__ import annotations

import ast
import inspect
import os
from typing import TYPE_CHECKING, Any

from pegboard.errors import PluginError
from pegboard.hookspecs import CORE_HOOKS
from pegboard.plugins import index
from pegboard.plugins.builtin import is_own, normalise
from pegboard.plugins.declarations import find_file
from pegboard.reserved import HOOKS
from pegboard.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pegboard.records import HookRecord


def known_hooks(env: Mapping[str, str] | None = None) -> dict[str, HookRecord]:
    """The hooks of the core and those that installed distributions specify."""
    return CORE_HOOKS | index.declared(env)["hooks"]


def check_hooks(plugin: Any, known: Mapping[str, HookRecord] | None = None) -> list[str]:
    """The hooks a plugin implements; each trap of mixing pluggy with awaiting is refused with what to write instead.

    A hook of Pegboard's whose specification is not installed is left out; `unspecified_hooks` names it.
    """
    known = known_hooks() if known is None else known
    hooks = []
    for name, function, options in _implementations(plugin):
        where = f"{name} in {_place(function)}"
        if name not in known:
            if options.get("optionalhook") or name in HOOKS:
                continue
            raise PluginError(f"{where} is not a hook.{did_you_mean(name, {*known, *HOOKS})}", kind="unknown-hook")
        awaits = known[name]["awaits"]
        if options.get("wrapper") or options.get("hookwrapper"):
            raise PluginError(f"{where} is a hook wrapper. {WRAPPER_ADVICE[awaits]}", kind="hook-wrapper")
        if not awaits and (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
            reason = f"{where} is an async def, but {name} is not awaited. Write a plain def."
            raise PluginError(reason, kind="async-hook")
        _check_parameters(name, function, where, known[name]["parameters"])
        hooks.append(name)
    return sorted(hooks)


WRAPPER_ADVICE = {
    True: "It would see the awaitable being made, not run. Implement wrap_execute to surround execution.",
    False: "Pegboard calls hooks one by one and has no wrappers. Write a plain implementation.",
}


def unspecified_hooks(plugin: Any, known: Mapping[str, HookRecord]) -> list[str]:
    """The hooks of a plugin that nothing installed specifies, though a distribution of Pegboard's would."""
    return sorted({name for name, _, _ in _implementations(plugin) if name in HOOKS and name not in known})


def _implementations(plugin: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    module = vars(plugin) if inspect.ismodule(plugin) else None  # What `getattr_static` finds, in a tenth of its time.
    for attribute in dir(plugin):
        function = module.get(attribute) if module else inspect.getattr_static(plugin, attribute, None)
        function = getattr(function, "__func__", function)
        options = getattr(function, "pegboard_impl", None)
        if isinstance(options, dict):
            yield options.get("specname") or attribute, function, options


def _check_parameters(name: str, function: Any, where: str, allowed: list[str]) -> None:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PluginError(f"{where} takes *{parameter.name}. Name the parameters it needs.", kind="hook-signature")
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            reason = f"{where} takes {parameter.name!r} by keyword only; hooks are called by position. Remove the *."
            raise PluginError(reason, kind="hook-signature")
        if parameter.name not in allowed and parameter.name != "self" and parameter.default is parameter.empty:
            offered = ", ".join(sorted(allowed)) or "no parameters"
            reason = f"{where} asks for {parameter.name!r}; {name} offers {offered}."
            raise PluginError(reason, kind="hook-signature")


def _place(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return "an unknown place"
    return f"{os.path.join(*code.co_filename.split(os.sep)[-2:])}:{code.co_firstlineno}"


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
        raise _fault(f"{path}: {class_name} has a base class. Hooks are read from the class itself; remove the base.")
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
        raise _fault(
            f"{path}: the hook {name} belongs to {owner}. Choose another name, such as one with a prefix of your own."
        )


def _fault(reason: str) -> PluginError:
    return PluginError(reason, kind="bad-hooks")
