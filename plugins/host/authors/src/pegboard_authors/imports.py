"""What importing a plugin costs, measured in a fresh process: it is paid at the first call, and while listing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace

MARK = "pegboard-mark"
BASE = """
import sys, pegboard.function_tool, pegboard.hookspecs, pegboard.context, anyio.to_thread, pydantic
class First(pydantic.BaseModel):
    field: int = 0
"""
"""What a host has done before any plugin, or with the first one: every input is a pydantic model, and the first model
loads what builds them."""
LINE = re.compile(r"import time:\s*(\d+)\s*\|\s*(\d+)\s*\|(\s+)(\S+)")
RUNS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds, and the modules of other distributions that were imported on the way."""

    ms: float
    modules: dict[str, float]
    error: str = ""


def cost_of(module: str, bearable: float) -> Cost:
    """The cheapest of a few runs, and of a few more when it seems much: what else the machine does only adds to it."""
    runs = [_measure(module) for _ in range(RUNS)]
    if min(run.ms for run in runs) > bearable:
        runs += [_measure(module) for _ in range(2 * RUNS)]
    modules = {name: min(run.modules.get(name, ms) for run in runs) for name, ms in runs[0].modules.items()}
    return replace(min(runs, key=lambda run: run.ms), modules=modules)


def _measure(module: str) -> Cost:
    code = f"{BASE}print({MARK!r}, file=sys.stderr, flush=True)\nimport {module}"
    command = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONSAFEPATH": "1"}
    )
    if done.returncode:
        return Cost(0.0, {}, done.stderr.strip().splitlines()[-1])
    lines = [LINE.fullmatch(line) for line in done.stderr.partition(MARK)[2].splitlines()]
    total, modules, own = 0.0, dict[str, float](), module.partition(".")[0]
    for found in filter(None, lines):
        ms, top = int(found[2]) / 1000, found[4].partition(".")[0]
        if len(found[3]) == 1:
            total += ms
        if top not in (own, "pegboard") and top not in sys.stdlib_module_names:
            modules[top] = max(modules.get(top, 0.0), ms)
    return Cost(round(total, 1), modules)
