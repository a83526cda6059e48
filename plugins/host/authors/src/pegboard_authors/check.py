"""`pegboard check`: lint a plugin and hold its tools to the contract."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_authors.exit_codes import FOUND, OK, USAGE, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_authors.findings import Finding

# Imports happen inside functions: --help must not load packaging libraries.

EXAMPLES = """\
examples:
  pegboard check                      the plugin in this folder
  pegboard check plugins/files/read --json
  pegboard check acme-word-count      an installed distribution
"""


def run(words: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        "pegboard check",
        description="Lint a plugin and test its tools against the contract. "
        "Exit code 1 means that something was found.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", nargs="?", default=".", help="the plugin's project, or the name of a distribution")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-contract", action="store_true", help="only lint, without running any tool")
    given = parser.parse_args(words)
    # Imported here because loading plugins takes longer than --help should.
    from pegboard_authors.lint import lint

    try:
        dist, project = _subject(given.path)
        findings, costs = lint(dist, project)
        if costs and not given.no_contract:  # A distribution of commands alone has no tools to run.
            findings += contract(dist, project)
    except UsageError as error:
        sys.stderr.write(f"pegboard check: {error}\n")
        return USAGE
    _show_json(dist, findings, costs) if given.json else _show(dist, findings, costs)
    return FOUND if findings else OK


def _subject(path: str) -> tuple[str, Path | None]:
    """The distribution that is meant, and its project if there is one."""
    folder = Path(path)
    if not folder.is_dir():
        return path, None
    try:
        data = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
        return str(data["project"]["name"]), folder.resolve()
    except (OSError, KeyError, ValueError):
        raise UsageError(f"{folder.resolve()} has no pyproject.toml with a project name.") from None


def contract(dist: str, project: Path | None) -> list[Finding]:
    """The contract suite in a process of its own; a conftest.py of the project gives examples."""
    from pegboard_authors.findings import Finding

    with tempfile.TemporaryDirectory(prefix="pegboard-check-") as folder:
        report = Path(folder, "report.json")
        tests = [str(project / "tests")] if project and (project / "tests").is_dir() else [folder]
        options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-W", "default"]
        suite = [f"--pegboard-contract={dist}", f"--pegboard-contract-report={report}"]
        command = [sys.executable, "-m", "pytest", *options, *suite, *tests]
        done = subprocess.run(command, cwd=project or folder, capture_output=True, text=True, check=False)
        if not report.exists():
            last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            return [Finding("contract", dist, f"The contract suite could not run: {last}")]
        rows: list[dict[str, str]] = json.loads(report.read_text("utf-8"))
    return [Finding(f"contract:{row['promise']}", row["tool"], row["reason"]) for row in rows]


def _show(dist: str, findings: Sequence[Finding], costs: dict[str, float]) -> None:
    rules: dict[tuple[str, str], list[str]] = {}
    for finding in findings:  # A tool that could not be run breaks many promises for one reason.
        rules.setdefault((finding.where, finding.message), []).append(finding.rule)
    for (where, message), names in rules.items():
        sys.stdout.write(f"{where}: {message} [{', '.join(names)}]\n")
    imports = "".join(f"; {entry} imports in {ms:.0f} ms" for entry, ms in costs.items())
    outcome = "1 finding" if len(rules) == 1 else f"{len(rules) or 'no'} findings"
    sys.stdout.write(f"{dist}: {outcome}{imports}.\n")


def _show_json(dist: str, findings: Sequence[Finding], costs: dict[str, float]) -> None:
    rows: list[dict[str, Any]] = [{"rule": f.rule, "where": f.where, "message": f.message} for f in findings]
    document = {"distribution": dist, "ok": not findings, "import_ms": costs, "findings": rows}
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
