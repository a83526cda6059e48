"""What the contract suite needs to know about Monitor: a command that ends."""

from __future__ import annotations

from typing import Any

from pegboard import Tool


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    if tool.name != "Monitor":
        return None
    return [{"command": "echo ready", "description": "a server", "pattern": "ready|failed", "timeout_ms": 60_000}]
