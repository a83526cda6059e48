"""The definition of a tool as another process sees it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pegboard import Tool

SEEDS = ("1", "2")


def definitions(tool: Tool[Any, Any]) -> list[bytes]:
    """The tool's definition made in fresh processes with different hash seeds; a `LookupError` says why not."""
    made: Any = getattr(tool, "__wrapped__", type(tool))
    if "<locals>" in getattr(made, "__qualname__", ""):
        raise LookupError(f"{tool.name} is defined inside a function. Define it at the top level of a module.")
    module, file = made.__module__, inspect.getsourcefile(made) or ""
    if module == "__main__":  # There it is this very module.
        module = f"main_of_{Path(file).stem}"
    command = [sys.executable, "-m", __name__, module, file, tool.name]
    path = os.pathsep.join(place or "." for place in sys.path)
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for seed in SEEDS
    ]
    found = []
    for process in running:
        output, error = process.communicate()
        if process.returncode:
            last = error.decode(errors="replace").strip().splitlines()[-1:]
            raise LookupError(f"{module} cannot be imported in another process: {''.join(last)}")
        found.append(output)
    return found


def find(module_name: str, file: str, name: str) -> Tool[Any, Any]:
    """Import a module, by name or from its file, and take the tool of this name out of it."""
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise
        module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    register = getattr(module, "register_tools", None)
    offered = [*(register() if register else ()), *vars(module).values()]
    for value in offered:
        if isinstance(value, Tool) and value.name == name:
            return value
    for value in offered:
        if isinstance(value, type) and issubclass(value, Tool) and getattr(value, "name", "") == name:
            made: Tool[Any, Any] = value()
            return made
    raise LookupError(f"{Path(file).name} has no tool {name!r}")


if __name__ == "__main__":
    sys.stdout.buffer.write(find(*sys.argv[1:4]).definition_bytes)
