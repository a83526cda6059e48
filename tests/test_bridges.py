"""The bridges of the docs against the real packages. Slow: they are installed by name into a throw-away folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import blocks

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/how-to/bridge-to-other-frameworks.md"
PACKAGES = {"pydantic_ai": "pydantic-ai-slim", "langchain_core": "langchain-core"}

pytestmark = pytest.mark.skipif(os.environ.get("PEGBOARD_TEST_SLOW") != "1", reason="slow: installs packages")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the packages, for one interpreter and this module."""
    folder = tmp_path_factory.mktemp("site")
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    done = subprocess.run(
        [*command, "-q", "--target", str(folder), *PACKAGES.values()], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the packages cannot be installed here: {done.stderr.strip()[-300:]}")
    return folder


@pytest.mark.parametrize("package", PACKAGES)
def test_the_bridge_works_with(package, site, tmp_path):
    block = next(block for block in blocks(PAGE, "py") if f"from {package}" in block)
    script = tmp_path / "block.py"
    script.write_text(block)
    (tmp_path / "README.md").write_text((ROOT / "README.md").read_text())
    env = {**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
