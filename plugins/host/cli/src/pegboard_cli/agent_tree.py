"""The tree of running sub-agents, built from events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from pegboard.wording import counted

INDENT = "  "


class Node:
    """One running agent."""

    def __init__(self, parent: str, label: str) -> None:
        self.parent, self.label, self.began = parent, label, time.monotonic()
        self.calls = 0
        self.running: dict[str, tuple[str, float]] = {}
        self.inputs: dict[str, str] = {}


class AgentTree:
    """Takes the events of sub-agents; returns a line about what happened, or the current tree."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def hear(self, kind: str, data: Mapping[str, Any], call: str = "") -> str | None:
        """Keep an event; the line to show for it, if it is worth one. `call` is a requested call in words."""
        node = self.nodes.get(data["agent"])
        if kind == "agent_started":
            node = Node(data["parent"], name_of(data))
            self.nodes[data["agent"]] = node
            return f"{self._margin(data['agent'])}{node.label}: {data['description']} ({data['model']})"
        if node is None:
            return None
        if kind == "call_requested":
            node.inputs[data["id"]] = call
        elif kind == "call_started":
            node.running[data["id"]] = (node.inputs.get(data["id"], data["name"]), time.monotonic())
        elif kind == "call_finished":
            return self._finished(node, data)
        elif kind == "agent_finished":
            margin, seconds = self._margin(data["agent"]), data["ms"] / 1000
            del self.nodes[data["agent"]]
            return f"{margin}{node.label} {data['state']}: {counted(node.calls, 'call')}, {seconds:.1f} s"
        return None

    def rows(self, parent: str = "", depth: int = 0) -> Iterator[str]:
        """The agents and their calls that run now, children under their parents.

        One whose parent has ended, as in the background or resumed by another, is shown at the top.
        """
        now = time.monotonic()
        for key, node in list(self.nodes.items()):
            if (node.parent if node.parent in self.nodes else "") != parent:
                continue
            yield f"{INDENT * depth}{node.label}  {counted(node.calls, 'call')}  {now - node.began:.1f} s"
            for label, began in list(node.running.values()):
                yield f"{INDENT * (depth + 1)}{label[:90]}  {now - began:.1f} s"
            yield from self.rows(key, depth + 1)

    def _finished(self, node: Node, data: Mapping[str, Any]) -> str:
        node.calls += 1
        label, _ = node.running.pop(data["id"], (data["name"], 0.0))
        node.inputs.pop(data["id"], None)
        mark = "denied" if data["decision"] == "deny" else "failed" if data["is_error"] else "ok"
        return f"{self._margin(data['agent'])}{INDENT}{mark:<6} [{short(data['agent'])}] {label}  ({data['ms']:.0f} ms)"

    def _margin(self, key: str) -> str:
        depth = 0
        while (node := self.nodes.get(key)) is not None:
            depth, key = depth + 1, node.parent
        return INDENT * depth


def name_of(data: Mapping[str, Any]) -> str:
    """The name of an agent on the screen."""
    name = f" {data['name']}" if data["name"] else ""
    where = " in the background" if data["background"] else ""
    return f"{data['agent_type']}{name} [{short(data['agent'])}]{where}"


def short(key: str) -> str:
    """The part of an agent's id that tells it from others."""
    return key.removeprefix("agent-")
