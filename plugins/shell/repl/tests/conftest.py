"""What the contract suite needs to know about REPL: code that computes, code that fails, and code that takes time."""

from __future__ import annotations

from typing import Any

from pegboard import Tool


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    codes = ("6 * 7", "print('alpha'); open('made.txt', 'w').write('beta')", "import time; time.sleep(2.2)")
    return [{"language": "python", "code": code} for code in codes] if tool.name == "REPL" else None
