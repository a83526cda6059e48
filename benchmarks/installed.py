"""Install what we are compared with into a throw-away folder: packages of npm, and environments of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from .harness import Skip

SECONDS = 600


def npm_package(package: str, program: str, cache: Path) -> tuple[str, str]:
    """The path of a program from the npm registry, and its version."""
    npm = shutil.which("npm")
    if not npm:
        raise Skip("npm is not installed")
    folder = cache / "npm" / program
    script = folder / "node_modules" / ".bin" / program
    if not script.exists():
        _install([npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), package])
    if not script.exists():
        raise Skip(f"{package} has no program {program}")
    name = package if package.rfind("@") < 1 else package[: package.rfind("@")]
    about = json.loads((folder / "node_modules" / name / "package.json").read_text())
    return str(script), about["version"]


def python_environment(package: str, cache: Path) -> str:
    """The interpreter of an environment that holds one package, and what it needs."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if not uv:
        raise Skip("uv is not installed")
    folder = cache / "python" / f"{package}-{sys.version_info.major}.{sys.version_info.minor}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        _install([uv, "venv", "-q", "--clear", "-p", sys.executable, str(folder)])
        _install([uv, "pip", "install", "-q", "--compile-bytecode", "-p", str(python), *package.split("+")])
        done.touch()  # Written last: an environment that is half there is made anew.
    return str(python)


def _install(command: list[str]) -> None:
    """Run an installer, or say that it cannot be done here."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Skip(f"{command[-1]} could not be installed within {SECONDS} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Skip(f"{command[-1]} could not be installed: {last}")
