"""What listing costs: `pegboard tools --json` against `python -I -c pass`, and 300 plugins against 8."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from harness import cpu_of_process, interleave, options, report

PLUGIN = '''from pegboard import Context, Input, hookimpl, tool


class T{i}Input(Input):
    file_path: str
    """The text file to count. A relative path starts at the working directory."""
    limit: int = 10
    """How many."""


@tool(read_only=True)
def T{i}(args: T{i}Input, ctx: Context) -> str:
    """Count the lines, words and characters of a text file, number {i}. Use it when you need the size of a text."""
    return args.file_path


@hookimpl
def register_tools():
    return [T{i}]
'''


def install(site: Path, count: int) -> None:
    """Put plugins into a folder as an installer would, only faster."""
    for i in range(count):
        info = site / f"acme_t{i}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-t{i}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pegboard]\nacme.t{i} = acme_t{i}\n")
        (info / "RECORD").write_text(f"acme_t{i}/__init__.py,,\n")
        (site / f"acme_t{i}").mkdir()
        (site / f"acme_t{i}" / "__init__.py").write_text(PLUGIN.format(i=i))
    old = time.time() - 10
    for path in (site, *site.iterdir()):
        os.utime(path, (old, old))


def main() -> None:
    given = options(rounds=25)
    script = Path(sysconfig.get_path("scripts")) / "pegboard"
    with tempfile.TemporaryDirectory() as folder:
        cases = {"python -I -c pass": lambda: cpu_of_process([sys.executable, "-I", "-c", "pass"])}
        for count in (8, 300):
            site = Path(folder) / f"site{count}"
            install(site, count)
            env = {**os.environ, "HOME": folder, "PYTHONPATH": str(site)}
            for variable in ("XDG_CACHE_HOME", "PYTHONDONTWRITEBYTECODE"):
                env.pop(variable, None)  # An installed package has its bytecode; a checkout gets it in the first round.
            command = [sys.executable, str(script), "tools", "--json"]
            cpu_of_process(command, env)
            cases[f"pegboard tools --json, {count} plugins"] = lambda c=command, e=env: cpu_of_process(c, e)
        rows = interleave(cases, given.rounds)
    report("Warm listing, CPU time of the process", rows, "python -I -c pass", as_json=given.json)
    eight, many = (rows[f"pegboard tools --json, {count} plugins"] for count in (8, 300))
    report("300 plugins against 8", {"8": eight, "300": many}, "8", as_json=given.json)


if __name__ == "__main__":
    main()
