"""The slow way, once: import each plugin that is switched on, and write down what it offers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pegboard.contract import Tool
from pegboard.errors import PluginError
from pegboard.plugins.loader import load_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.records import HookRecord, PluginRecord, ScanRecord, ToolRecord


def refused(kind: str, reason: str, traceback: str = "", files: list[str] | None = None) -> ScanRecord:
    """The record of a plugin that is in quarantine."""
    return {
        "state": "quarantined",
        "kind": kind,
        "reason": reason,
        "traceback": traceback,
        "hooks": [],
        "unspecified": [],
        "tools": [],
        "printed": "",
        "ms": 0.0,
        "origin": "",
        "files": files or [],
    }


def scan(plugin: PluginRecord, known: Mapping[str, HookRecord] | None = None) -> ScanRecord:
    """Import a plugin and write down what it offers, or why it cannot be used. `known` are the hooks there are."""
    try:
        loaded = load_plugin(plugin, known)
        tools = [describe_tool(tool) for tool in loaded.tools]
    except PluginError as error:
        return refused(error.kind, str(error), error.traceback, _source_files(plugin))
    finally:
        plugin["record"] = ""
    found = refused("", "", files=_source_files(plugin) if plugin["editable"] else [])
    found["state"], found["tools"] = "active", tools
    found["hooks"], found["unspecified"] = loaded.hooks, loaded.unspecified
    found["printed"], found["ms"], found["origin"] = loaded.printed, loaded.ms, loaded.origin
    found["sources_when"] = [str(need) for need in getattr(loaded.plugin, "TOOL_SOURCES_WHEN", ())]
    return found


def describe_tool(tool: Any) -> ToolRecord:
    """What listings and the pool need of a tool, as plain data: the index can keep no subclass of `str` or `int`."""
    return {
        "name": str(tool.name),
        "aliases": [str(alias) for alias in tool.aliases],
        "hint": str(tool.search_hint),
        "guidance": str(tool.guidance),
        "definition": tool.definition_bytes,
        "read_only": tool.read_only,
        "concurrency_safe": tool.concurrency_safe,
        "open_world": tool.open_world,
        "destructive": tool.destructive,
        "subagents": tool.subagents,
        "pinned": tool.pinned,
        "fetches_tools": tool.fetches_tools,
        "max_result_chars": None if tool.max_result_chars is None else int(tool.max_result_chars),
        "requires_binaries": [str(binary) for binary in tool.requires_binaries],
        "requires_setting": str(tool.requires_setting),
        "platforms": [str(platform) for platform in tool.platforms],
        "rule_subject": str(tool.rule_subject),
        "rule_parameter": str(tool.rule_parameter),
        "capability": str(tool.capability),
        "dynamic": type(tool).is_enabled is not Tool.is_enabled,
    }


def _source_files(plugin: PluginRecord) -> list[str]:
    """The source files of a plugin that may change in place: an edit in an editable checkout is seen at once."""
    name = plugin["value"].partition(":")[0].strip()
    module = sys.modules.get(name)
    places = list(getattr(module, "__path__", ())) or _places_on_disk(plugin, name)
    files = [getattr(module, "__file__", "") or ""]
    for place in places:
        for folder, _, names in os.walk(place):
            if os.path.basename(folder) == "__pycache__":
                continue  # Any process may write there; it says nothing about the source.
            files += [folder, *(os.path.join(folder, n) for n in names if n.endswith(".py"))]
    return sorted({file for file in files if file})


def _places_on_disk(plugin: PluginRecord, name: str) -> list[str]:
    """Where a plugin that failed to import would be, without importing it."""
    relative = name.replace(".", os.sep)
    bases = [plugin["root"], plugin["editable"], os.path.join(plugin["editable"], "src")]
    found = [os.path.join(base, relative) for base in bases if base]
    return [path for path in found if os.path.isdir(path)] + [
        f"{path}.py" for path in found if os.path.isfile(f"{path}.py")
    ]
