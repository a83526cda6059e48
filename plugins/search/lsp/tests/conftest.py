"""A project with servers, and examples for the contract suite."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import pytest

from pegboard import Context, Tool

if shutil.which("ty") is None:  # The servers of the tests are installed beside the interpreter.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"

PROGRAM = '''class Greeter:
    def greet(self, name: str) -> str:
        """Say hello."""
        return "hello " + name


def main() -> None:
    Greeter().greet("Ada")
'''


def program(operation: str, **more: Any) -> Any:
    """A file to ask about."""

    def make(ctx: Context) -> dict[str, Any]:
        (ctx.cwd / "greeter.py").write_text(PROGRAM)
        return {"operation": operation, "file_path": "greeter.py", **more}

    return make


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    examples = [program("documentSymbol"), program("findReferences", symbol="greet")]
    return examples if tool.name == "LSP" else None


@pytest.fixture
def world(tmp_path):
    from .world import World  # The contract suite runs this file outside of its package.

    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def anyio_backend():
    return "asyncio"
