"""What can be said about a plugin by looking at it: its metadata, what its tools declare, what importing it costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pegboard import PluginError, Tool
from pegboard.hosting import (
    BY_FULL_NAME,
    HOOKS,
    RESERVED,
    Loaded,
    PluginRecord,
    discover,
    is_builtin,
    load_index,
    load_plugin,
    normalise,
    plugin_roots,
)
from pegboard.wording import listed
from pegboard_authors.commands import command_findings
from pegboard_authors.exit_codes import UsageError
from pegboard_authors.findings import Finding
from pegboard_authors.imports import Cost, cost_of

LONGEST_DEFINITION = 8_000
SHORTEST_PROMPT = 15
SLOWEST_IMPORT_MS = 150.0
HEAVY_MS = 40.0
HEAVY = {
    "anthropic",
    "httpx",
    "httpx2",
    "lxml",
    "mcp",
    "numpy",
    "pandas",
    "PIL",
    "requests",
    "rich",
    "torch",
    "trafilatura",
}
"""Libraries that never belong at the top of a module, however fast this machine is."""


def lint(dist: str, project: Path | None) -> tuple[list[Finding], dict[str, float]]:
    """All findings about a distribution, and the import cost of each plugin in milliseconds."""
    found = discover(plugin_roots())
    plugins = [plugin for plugin in found["plugins"] if normalise(plugin["dist"]) == normalise(dist)]
    commands = [command for command in found["commands"] if normalise(command["dist"]) == normalise(dist)]
    if not plugins and not commands:
        reason = f"{dist} is not installed, or has no entry point in the groups pegboard and pegboard.commands."
        raise UsageError(f"{reason} Install it with pip install -e .")
    findings: list[Finding] = []
    costs: dict[str, float] = {}
    for plugin in plugins:
        cost = cost_of(plugin["value"].partition(":")[0], HEAVY_MS)
        costs[plugin["entry"]] = cost.ms
        findings += [*_metadata(plugin), *_imports(plugin, cost), *_contents(plugin)]
    for command in commands:
        findings += command_findings(command, found["commands"])
    if project and not (project / "README.md").is_file():
        findings.append(
            Finding(
                "docs", dist, "There is no README.md. Write one that says what the plugin does and how to install it."
            )
        )
    return findings, costs


def _contents(plugin: PluginRecord) -> Iterator[Finding]:
    """What is wrong with a plugin itself and with each of its tools."""
    if plugin["scan"]:
        yield Finding(plugin["scan"]["kind"], plugin["entry"], plugin["scan"]["reason"])
        return
    try:
        loaded = load_plugin(plugin)
    except PluginError as error:
        yield Finding(error.kind, plugin["entry"], str(error))
        return
    yield from (*_family(loaded), *_unspecified(loaded))
    for tool in loaded.tools:
        yield from (*_docs(tool), *_defaults(tool), *_clashes(tool, plugin))


def _metadata(plugin: PluginRecord) -> Iterator[Finding]:
    if not plugin["api"]:
        yield Finding(
            "requires-api",
            plugin["entry"],
            f'It does not say which API version it was written for. Add [project.entry-points."pegboard.requires_api"] '
            f'with "1.0" = "{plugin["value"]}".',
        )


def _family(loaded: Loaded) -> Iterator[Finding]:
    """Whether a plugin provides what its family is for."""
    family, entry, hooks = loaded.family, loaded.entry, {*loaded.hooks, *loaded.unspecified}
    if not hooks:
        yield Finding("no-hooks", entry, "It implements no hook, so it does nothing. Mark functions with @hookimpl.")
    elif family in BY_FULL_NAME and loaded.tools:
        reason = (
            f"The family {family} must not contain tools, but this plugin has "
            f"{listed(tool.name for tool in loaded.tools)}."
        )
        yield Finding("entry-name", entry, f"{reason} Name the entry point after another family, such as text.{entry}.")
    elif family == "providers" and "register_providers" not in hooks:
        reason = "The family providers is for model providers, but this plugin does not implement register_providers."
        yield Finding("entry-name", entry, f"{reason} Implement it, or choose another family.")


def _unspecified(loaded: Loaded) -> Iterator[Finding]:
    for name in loaded.unspecified:
        reason = f"The hook {name} could not be checked: {HOOKS[name]}, which defines it, is not installed."
        yield Finding("unspecified-hook", loaded.entry, f"{reason} Run pip install {HOOKS[name]}.")


def _imports(plugin: PluginRecord, cost: Cost) -> Iterator[Finding]:
    if cost.error:
        return
    if cost.ms > SLOWEST_IMPORT_MS:
        reason = (
            f"Importing it takes {cost.ms:.0f} ms; {SLOWEST_IMPORT_MS:.0f} ms is the limit. Import inside the call."
        )
        yield Finding("import-cost", plugin["entry"], reason)
    for module, ms in sorted(cost.modules.items()):
        if module in HEAVY or ms > HEAVY_MS:
            reason = (
                f"{module} ({ms:.0f} ms) is imported at the top of a module. Import it inside the call that needs it."
            )
            yield Finding("heavy-import", plugin["entry"], reason)


def _docs(tool: Tool[Any, Any]) -> Iterator[Finding]:
    if len(tool.prompt.strip()) < SHORTEST_PROMPT:
        yield Finding("docs", tool.name, "The prompt is missing. Write a docstring that tells a model when to use it.")
    for name, field in tool.input.model_fields.items():
        if not field.description and not _is_explained(tool.prompt, field.alias or name, field.annotation):
            reason = "The field has no docstring, and the prompt does not name it. The model must guess what it means."
            yield Finding("docs", f"{tool.name}.{name}", reason)
    if not tool.search_hint:
        yield Finding(
            "docs", tool.name, "There is no search_hint. Add three to ten words that help a model find the tool."
        )
    if (size := len(tool.definition_bytes)) > LONGEST_DEFINITION:
        reason = f"The definition has {size} bytes and is sent with every request. The limit is {LONGEST_DEFINITION}."
        yield Finding("prompt-size", tool.name, reason)


def _is_explained(prompt: str, name: str, annotation: object) -> bool:
    """Every word is paid with each request, so the prompt may speak for a field, and a flag such as -i for itself."""
    words = set(re.findall(r"[\w-]+", prompt))
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    return name in words or re.fullmatch(r"-\w", name) is not None or (bool(choices) and words.issuperset(choices))


def _defaults(tool: Tool[Any, Any]) -> Iterator[Finding]:
    said = {name for name in ("read_only", "open_world", "concurrency_safe", "destructive") if _says(tool, name)}
    computed = type(tool).facts is not Tool.facts and getattr(tool, "_facts", True) is not None
    if computed:
        return
    if tool.read_only and "open_world" not in said:
        reason = (
            "It is read_only, but open_world is not set, so every call asks. "
            "Set open_world=False if the tool stays local."
        )
        yield Finding("unsafe-default", tool.name, reason)
    if not said:
        reason = (
            "It does not declare what a call does, so every call counts as dangerous. "
            "Set read_only and open_world, or compute facts."
        )
        yield Finding("unsafe-default", tool.name, reason)
    if tool.concurrency_safe and not tool.read_only:
        reason = "It is concurrency_safe but not read_only: two calls may change the same thing. Compute facts instead."
        yield Finding("unsafe-default", tool.name, reason)


def _says(tool: Tool[Any, Any], name: str) -> bool:
    kinds = [kind for kind in type(tool).__mro__ if issubclass(kind, Tool) and kind is not Tool]
    return name in vars(tool) or any(name in vars(kind) for kind in kinds)


def _clashes(tool: Tool[Any, Any], plugin: PluginRecord) -> Iterator[Finding]:
    if is_builtin(plugin["dist"], plugin["entry"]):
        return
    for name in (tool.name, *tool.aliases):
        if name in RESERVED:
            yield Finding(
                "name-clash", tool.name, f"{name} is the name of one of Pegboard's own tools. Choose another name."
            )
    others = load_index(lambda other: True)["plugins"]
    for other in others:
        taken = {record["name"] for record in (other["scan"] or {"tools": ()})["tools"]}
        if normalise(other["dist"]) != normalise(plugin["dist"]) and tool.name in taken:
            yield Finding(
                "name-clash", tool.name, f"{other['dist']} has a tool with the same name. Choose another name."
            )
