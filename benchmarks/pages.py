"""Write the numbers of one run into the documentation: tables, budgets and plots.

    python -m benchmarks.pages [FILE] [--check]

The file is what `python -m benchmarks --json FILE` wrote, `benchmarks/results.json` unless named. On a page, the parts
between `<!-- begin: NAME -->` and `<!-- end: NAME -->` are replaced. The same file gives the same bytes; `--check` says
which pages differ and changes nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import budgets, plot
from .show import amount

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
PICTURES = ROOT / "docs" / "pictures"
PAGES = ("README.md", "docs/explanation/performance.md")
AGENTS = ("claude code", "pi", "opencode", "pegboard")
NAMES = {"claude code": "Claude Code", "pegboard": "Pegboard"}
IN_README = ("start", "exit", "peak-memory", "first-bash", "read", "bash-true", "edit", "10-reads", "10-edits")
TRENDS = {
    "tools": ("listing/tools", "toolsearch/tools"),
    "plugins": ("listing/plugins",),
    "turns": ("session/turns", "compaction/turns"),
    "rules": ("rules/read", "rules/write", "rules/command", "rules/fetch"),
}
"""One picture each, and what is in it."""
BESIDES = ("agents/", "frameworks/")
"""What has a table of its own."""

PARTS = ("run", "agents", "frameworks", "own", "budgets", "plots", "readme")
NOT_YET = "No run is recorded yet: `tox -e bench -- --short --pages` makes one on your machine and puts it here."

Run = Mapping[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def agents(found: Run, chosen: Sequence[str] = ()) -> str:
    """Agent command lines side by side; the least of each row is bold."""
    shown = [one for one in found["comparisons"] if one["name"].startswith("agents/")]
    if chosen:
        shown = [one for one in shown if one["name"].removeprefix("agents/") in chosen]
    ran = [name for name in AGENTS if any(row["case"] == name for one in shown for row in one["rows"])]
    return table(["", *(NAMES.get(name, name) for name in ran)], [_agent_row(one, ran) for one in shown])


def _agent_row(one: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    medians = {row["case"]: row["median"] for row in one["rows"]}
    least = min(medians.values())
    cells = [one["title"]]
    for name in names:
        said = amount(medians[name], one["unit"]) if name in medians else "no such tool"
        cells.append(f"**{said}**" if medians.get(name) == least else said)
    return cells


def frameworks(found: Run) -> str:
    """Python frameworks: three numbers each, with the ratio against the floor."""
    shown = {
        one["name"].rpartition("/")[2]: one for one in found["comparisons"] if one["name"].startswith("frameworks/")
    }
    cells: dict[str, list[str]] = {}
    for one in shown.values():
        for row in one["rows"]:
            cells.setdefault(row["case"], []).append(f"{amount(row['median'], one['unit'])} ({row['ratio']:.2g})")
    head = ["", *(f"{one['title']} ({one['measure']})" for one in shown.values())]
    return table(head, [[name, *row] for name, row in cells.items()])


def own(found: Run) -> str:
    """Everything else: one row for each case that is not the reference."""
    rows = []
    for one in found["comparisons"]:
        if one["name"].startswith(BESIDES):
            continue
        for row in one["rows"]:
            if row["case"] != one["reference"]:
                measured = f"{amount(row['median'], one['unit'])} ({amount(row['low'], one['unit'])} to "
                measured += f"{amount(row['high'], one['unit'])})"
                words = [
                    one["name"],
                    f"{one['title']}: {row['case']}",
                    one["reference"],
                    measured,
                    f"{row['ratio']:.2f}",
                ]
                rows.append([word.replace("|", "\\|") for word in words])
    return table(["benchmark", "what", "reference", "median and spread", "ratio"], rows)


def kept_budgets(found: Run) -> str:
    """Every budget, and whether it is kept."""
    verdicts = budgets.judge(budgets.read(), found["comparisons"])
    rows = []
    for one in verdicts:
        mark = f"**{one.mark}**" if one.met is False else one.mark
        rows.append([one.budget.comparison, one.budget.case, one.text, mark, one.budget.why])
    return table(["benchmark", "case", "measured of allowed", "budget", "why"], rows)


def about(found: Run) -> str:
    """The machine, the versions, the commit."""
    machine, versions = found["machine"], ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    notes = [note for one in found["comparisons"] if one["name"].startswith(BESIDES) for note in one["notes"]]
    programs = [note for note in notes if re.search(r" \d[\w.]*$", note)]
    others = [note for note in notes if note not in programs]
    others += [f"{name} is skipped: {why}" for name, why in found["skipped"].items()]
    others += [f"{name} broke: {why}" for name, why in found["broken"].items()]
    size = f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}"
    lines = [
        f"- One run of {found['date']}, in its {found['pace']} form, which took {found['seconds'] / 60:.0f} minutes.",
        f"- {machine['processor']}, {size}; load at the start {machine['load']}.",
        f"- Commit `{found['commit'] or 'unknown'}`; {versions}.",
        f"- Beside it: {', '.join(programs) or 'nothing'}.",
        *(f"- {note[0].upper()}{note[1:]}." for note in others),
    ]
    return "\n".join(lines)


def plots(found: Run) -> str:
    """The pictures, as a page shows them."""
    shown = [name for name in TRENDS if trends_of(found, name)]
    return "\n".join(f"![What more {name} cost](../pictures/trend-{name}.svg)" for name in shown)


def trends_of(found: Run, axis: str) -> list[Mapping[str, Any]]:
    """The comparisons of a picture that are in the run."""
    return [one for one in found["comparisons"] if one["name"] in TRENDS[axis] and one["rows"]]


def parts_of(found: Run) -> dict[str, str]:
    """Every generated part by name."""
    machine = found["machine"]
    line = f"Medians of one run of {found['date']} on {machine['cores']} cores of {machine['processor']}"
    return {
        "run": about(found),
        "agents": agents(found),
        "frameworks": frameworks(found),
        "own": own(found),
        "budgets": kept_budgets(found),
        "plots": plots(found),
        "readme": f"{line}; the least of each row is bold.\n\n{agents(found, IN_README)}",
    }


def filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with its generated parts replaced."""

    def replaced(match: re.Match[str]) -> str:
        return f"<!-- begin: {match[1]} -->\n\n{parts[match[1]]}\n\n<!-- end: {match[1]} -->"

    return re.sub(r"<!-- begin: (\w+) -->.*?<!-- end: \1 -->", replaced, page, flags=re.DOTALL)


def files_of(found: Run | None) -> dict[Path, str]:
    """Every file that a run decides about, with its text; without a run, pages that say so."""
    parts = parts_of(found) if found else dict.fromkeys(PARTS, NOT_YET)
    files = {ROOT / name: filled((ROOT / name).read_text("utf-8"), parts) for name in PAGES}
    for axis in TRENDS if found else ():
        assert found
        if trends := trends_of(found, axis):
            files[PICTURES / f"trend-{axis}.svg"] = plot.draw(f"What more {axis} cost", trends)
    return files


def write(found: Run | None) -> None:
    """Write the pages and the pictures of a run."""
    for path, text in files_of(found).items():
        path.write_text(text, "utf-8")


def main() -> int:
    """The command."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    path = Path(words[0]) if words else RESULTS
    if words and not path.exists():
        print(f"There is no file {path}. python -m benchmarks --json FILE writes one.", file=sys.stderr)
        return 2
    found = json.loads(path.read_text("utf-8")) if path.exists() else None
    if "--check" not in sys.argv:
        if found and path.resolve() != RESULTS:
            RESULTS.write_text(path.read_text("utf-8"), "utf-8")
        write(found)
        return 0
    stale = [path for path, text in files_of(found).items() if not path.exists() or path.read_text("utf-8") != text]
    for each in stale:
        print(f"{each.relative_to(ROOT)} is not what {path.name} says; run python -m benchmarks.pages", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
