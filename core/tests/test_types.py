"""The contract under strict type checkers: right uses pass, each marked wrong use is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "types"


def marked_lines() -> set[int]:
    lines = (HERE / "wrong.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "# E" in line}


def mypy(file: Path, cache: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={cache}", str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE).stdout


def basedpyright(tmp_path: Path, file: Path) -> list[dict]:
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({"include": [str(file)], "typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "--project",
        str(config),
        "--outputjson",
        "--pythonpath",
        sys.executable,
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    return [row for row in found["generalDiagnostics"] if row["severity"] == "error"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_mypy_accepts_right_uses(cache):
    assert mypy(HERE / "right.py", cache) == ""


def test_mypy_refuses_each_wrong_use_and_nothing_else(cache):
    refused = {int(line.split(":")[1]) for line in mypy(HERE / "wrong.py", cache).splitlines() if ": error:" in line}
    assert refused == marked_lines()


def test_basedpyright_accepts_right_uses(tmp_path):
    assert basedpyright(tmp_path, HERE / "right.py") == []


def test_basedpyright_refuses_each_wrong_use(tmp_path):
    refused = {row["range"]["start"]["line"] + 1 for row in basedpyright(tmp_path, HERE / "wrong.py")}
    missing = {line for line in marked_lines() if line not in refused and line + 1 not in refused}
    assert not missing
