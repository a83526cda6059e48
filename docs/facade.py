"""The page about the library: every public name with its members, and the test kit, from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pegboard
import pegboard_session
from pegboard.errors import CODES
from pegboard_testing import plugin as kit
from pegboard_testing.contract import assert_contract, broken_promises

ABOUT = {
    "API": "The version of the tool contract, (major, minor).",
    "Message": "A message of a conversation: a role, and content in blocks, each a JSON object with a `type`.",
    "ProviderEvent": "Any event that a provider may yield.",
    "Block": "Any kind of content: Text, Image, Document.",
    "JSON": "A JSON object: a mapping from names to values.",
}

MODULES = ("pegboard.hosting", "pegboard.permission", "pegboard.settings", "pegboard.wording")
"""Public beside `pegboard` itself."""

VALUES = {
    "ALIASES": "Former names of built-in tools, and what they are called now.",
    "BAKED": "The name of the feature file in a built bundle.",
    "BY_FULL_NAME": "Families whose plugins are switched one by one: no family switch reaches them.",
    "CODES": "Every error code, and what the model is told to do.",
    "FAMILIES": "The families of built-in tools.",
    "FOLDER": "The folder with settings in a project or home.",
    "FOLDERS": "That folder, and the compatible one that is read too.",
    "FROM_REPOSITORY": "The names of the layers that a repository brings.",
    "GUARDS": "Settings that promise protection, and the plugins that keep the promise.",
    "Implementation": "One plugin's function for a hook, called with all parameters by position.",
    "HOOKS": "Hooks that other distributions of Pegboard specify, and which.",
    "MANAGED": "The folder of the settings of the machine's owner.",
    "OWNERS": "The distribution and plugin that bring each built-in tool.",
    "READS": "The layer of an allow that counts only when nobody has an opinion.",
    "RESERVED": "Names and former names of built-in tools.",
    "SAFETY": "The layers of opinions about paths that no rule and no option answers, only a person.",
    "TOOL_NAME": "A regular expression for the names that a tool may have.",
    "STOP": "The key in a result's metadata that says why the model must not go on.",
}


def library() -> str:
    """Every public name, every error code."""
    codes = ["\n## Error codes\n\n| code | what the model is told to do |\n|---|---|\n"]
    codes += [f"| `{code}` | {remedy} |\n" for code, remedy in CODES.items()]
    modules = [part for module in MODULES for part in public_module(module)]
    return "".join(["# The library\n\n", *contents(pegboard), *codes, *sections(pegboard), *modules])


def session() -> str:
    """Every public name of the package that holds conversations."""
    return "".join(
        ["# The session\n\n", f"{doc(pegboard_session)}\n\n", *contents(pegboard_session), *sections(pegboard_session)]
    )


def contents(package: ModuleType) -> Iterator[str]:
    """A row for each public name."""
    yield "| name | what it is |\n|---|---|\n"
    for name in package.__all__:
        yield f"| [`{name}`](#{anchor(package, name)}) | {about(package, name).splitlines()[0]} |\n"


def sections(package: ModuleType) -> Iterator[str]:
    for name in package.__all__:
        yield from section(package, name)


def public_module(name: str) -> Iterator[str]:
    """One of the modules that are public beside the library itself, and its names."""
    module = import_module(name)
    yield f"\n## Module {name}\n\n{doc(module)}\n\n| name | what it is |\n|---|---|\n"
    for public in sorted(module.__all__, key=str.lower):
        value = getattr(module, public)
        shown = f"{public}{signature(value)}" if inspect.isfunction(value) else public
        yield f"| `{cell(shown)}` | {cell(VALUES.get(public) or first_line(value))} |\n"


def testing() -> str:
    """The test kit: functions, fixtures, options and hooks of the pytest plugin."""
    parts = ["# The test kit\n\n", f"{inspect.getdoc(kit)}\n", "\n## Functions\n"]
    parts += [
        f"\n### {function.__name__}\n\n`{function.__name__}{signature(function)}`\n\n{doc(function)}\n"
        for function in (assert_contract, broken_promises)
    ]
    parts.append("\n## Fixtures\n\n| fixture | gives |\n|---|---|\n")
    parts += [f"| `{name}` | {first_line(made)} |\n" for name, made in fixtures()]
    parts.append("\n## Options of pytest\n\n| option | meaning |\n|---|---|\n")
    parts += [f"| `{option}` | {meaning} |\n" for option, meaning in options()]
    parts.append("\n## Hooks for conftest.py\n\n| hook | meaning |\n|---|---|\n")
    hooks = [member for name, member in vars(kit.Specifications).items() if name.startswith("pytest_")]
    parts += [f"| `{hook.__name__}{cell(signature(hook))}` | {first_line(hook)} |\n" for hook in hooks]
    return "".join(parts)


def anchor(package: ModuleType, name: str) -> str:
    """Where a heading is found; the second of two that differ in capitals only has a number."""
    earlier = [other for other in package.__all__ if other.lower() == name.lower()].index(name)
    return f"{name.lower()}-{earlier}" if earlier else name.lower()


def about(package: ModuleType, name: str) -> str:
    return ABOUT[name] if name in ABOUT else doc(getattr(package, name))


def section(package: ModuleType, name: str) -> Iterator[str]:
    """One public name: how it is made, what it says of itself, what it has."""
    value = getattr(package, name)
    yield f"\n## {name}\n\n"
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__mro__[1:] if base.__module__.startswith("pegboard")]
        yield f"A class{', a kind of ' + bases[0] if bases else ''}.\n\n"
    elif inspect.isfunction(value):
        yield f"`{name}{signature(value)}`\n\n"
    yield f"{about(package, name)}\n"
    if rows := list(members(value)) if inspect.isclass(value) else []:
        yield "\n| member | meaning |\n|---|---|\n"
        yield from (f"| `{cell(member)}` | {cell(meaning)} |\n" for member, meaning in rows)


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Public fields and methods in the order of the source; what it only inherits is left out."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id):
            yield ast.unparse(node), string(after)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            words = (ast.get_docstring(node) or "").split("\n\n")[0]
            is_property = any("property" in ast.unparse(mark) for mark in node.decorator_list)
            yield node.name if is_property else headline(node), " ".join(words.split())


def headline(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    awaited = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    given = ast.unparse(node.args).replace("self, ", "").replace("cls, ", "").removesuffix(", /")
    given = "" if given in ("self", "cls") else given
    return f"{awaited}{node.name}({given}){' -> ' + ast.unparse(node.returns) if node.returns else ''}"


def is_public(name: str) -> bool:
    return not name.startswith("_") and name not in {"model_config"}


def string(node: ast.stmt | None) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return " ".join(node.value.value.split()) if is_text else ""


def signature(function: Any) -> str:
    found = inspect.signature(inspect.unwrap(function))
    given = [value for name, value in found.parameters.items() if name != "self"]
    return str(found.replace(parameters=given)).replace("'", "")


def doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def first_line(value: Any) -> str:
    return doc(value).splitlines()[0]


def fixtures() -> Iterator[tuple[str, FunctionType]]:
    for name, value in vars(kit).items():
        function = getattr(value, "__wrapped__", None) or getattr(value, "__pytest_wrapped__", None)
        if type(value).__name__ == "FixtureFunctionDefinition":
            yield name, function or value


def options() -> Iterator[tuple[str, str]]:
    class Group:
        def __init__(self) -> None:
            self.rows: list[tuple[str, str]] = []

        def getgroup(self, name: str) -> Group:
            return self

        def addoption(self, option: str, *, help: str, metavar: str, **more: Any) -> None:
            shown = f"{option}[={metavar}]" if more.get("nargs") == "?" else f"{option}={metavar}"
            self.rows.append((shown, help))

    group = Group()
    kit.pytest_addoption(group)  # type: ignore[arg-type] # It has the one method that is used.
    yield from group.rows


def cell(text: str) -> str:
    return text.replace("|", "\\|")
