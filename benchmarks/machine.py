"""What a run was made on and with: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("anyio", "pluggy", "pydantic", "httpx2")


def describe() -> dict[str, Any]:
    """The machine, as far as it matters for speed."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "load": round(os.getloadavg()[0], 1),
    }


def processor() -> str:
    """The name that the processor gives itself."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def versions() -> dict[str, str]:
    """The interpreter and the libraries below everything."""
    return {"Python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def commit() -> str:
    """The commit that is measured, with a plus if files of it are changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "core", "plugins")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except FileNotFoundError:
        return ""
