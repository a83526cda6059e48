"""Plugins as the index describes them, made from real tools."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Input, Tool
from pegboard.plugins.scan import describe_tool, refused
from pegboard.records import PluginRecord
from pegboard.settings import Layer, Settings


class NoInput(Input):
    """A tool that needs nothing."""


class Plain(Tool[NoInput, str]):
    """Do nothing in particular."""

    def __init__(self, name: str = "Plain", **members: Any) -> None:
        self.name = name
        for member, value in members.items():
            setattr(self, member, value)

    def call(self, args: NoInput, ctx: Context, /) -> str:
        return f"{self.name} was here"


def plugin(dist: str, entry: str, *tools: Tool[Any, Any] | str) -> PluginRecord:
    """An active plugin that brings these tools."""
    made = [Plain(tool) if isinstance(tool, str) else tool for tool in tools]
    scanned = refused("", "")
    scanned |= {"state": "active", "hooks": ["register_tools"], "tools": [describe_tool(tool) for tool in made]}
    return {
        "id": f"{dist}:{entry}",
        "dist": dist,
        "version": "1.0",
        "entry": entry,
        "family": entry.partition(".")[0],
        "value": "",
        "api": "",
        "root": "",
        "editable": "",
        "record": "",
        "scan": scanned,
    }


READ = plugin("pegboard-read", "files.read", "Read")
GLOB = plugin("pegboard-glob", "search.glob", "Glob")
HELLO = plugin("acme-hello", "acme.hello", "Hello")


def settings(**layers: dict[str, Any]) -> Settings:
    """Settings from layers by name, such as `user={"disable": ["web"]}`."""
    return Settings([Layer(name, f"{name}.json", values) for name, values in layers.items()])
