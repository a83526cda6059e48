"""The benchmarks work: statistics, budgets, pages from a run, and one tiny benchmark. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from benchmarks import budgets, pages, plot, registry, show
from benchmarks.agent_play import Play, fill, whole_script
from benchmarks.agent_programs import call_of, pegboard
from benchmarks.harness import CPU, Comparison, Pace, interleave, quartiles

ROOT = Path(__file__).parent.parent


def comparison(name: str, **medians: float) -> dict[str, object]:
    samples = {case.replace("_", " "): [value] * 4 for case, value in medians.items()}
    return Comparison(name, "a title", samples, next(iter(samples)), CPU).data()


def test_cases_take_turns_and_the_first_round_is_dropped() -> None:
    order: list[str] = []

    def case(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = interleave({"a": lambda: case("a"), "b": lambda: case("b")}, rounds=2)
    assert order == ["a", "b"] * 3
    assert samples == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_a_row_has_median_spread_and_ratio() -> None:
    data = Comparison("x/y", "t", {"floor": [1.0, 1.0, 1.0], "ours": [1.0, 2.0, 3.0, 4.0, 10.0]}, "floor").data()
    assert data["rows"][1] == {"case": "ours", "median": 3.0, "low": 2.0, "high": 4.0, "ratio": 3.0, "count": 5}
    assert quartiles([3.0, 1.0]) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("budget", "met"),
    [
        ({"limits": {"theirs": 0.5}}, True),
        ({"limits": {"theirs": 0.4}}, False),
        ({"limits": {"theirs": 0.4, "other": 1.0}}, False),
        ({"limits": {"theirs": 0.4, "other": 1.0}, "any": True}, True),
        ({"limits": {"absent": 1.0}}, None),
        ({"limits": {"theirs": 0.5, "absent": 1.0}}, True),
        ({"limits": {"theirs": 0.5}, "most": 0.5}, False),
        ({"most": 1.0}, True),
    ],
)
def test_a_budget_is_judged_within_one_run(budget: dict[str, object], met: bool | None) -> None:
    run = [comparison("x/y", ours=1.0, theirs=2.0, other=1.0)]
    (verdict,) = budgets.judge([budgets.Budget("x/y", "ours", **budget)], run)  # type: ignore[arg-type]
    assert verdict.met is met


def test_the_summary_marks_what_is_missed() -> None:
    verdicts = budgets.judge(
        [budgets.Budget("x/y", "ours", {"theirs": 0.4}), budgets.Budget("x/z", "ours", {"theirs": 1.0})],
        [comparison("x/y", ours=1.0, theirs=2.0)],
    )
    lines = list(show.verdict_lines(verdicts))
    assert lines[1].split() == "MISSED x/y ours: 0.5 of 0.4 x theirs".split()
    assert lines[2].startswith("  not measured  x/z")
    assert lines[-1] == "1 of 2 budgets were measured, 1 missed."


def test_amounts_are_written_with_a_unit_that_suits_them() -> None:
    assert [show.amount(value, "s") for value in (2.5, 0.0123, 4.2e-5, 0.852)] == [
        "2.50 s",
        "12.3 ms",
        "42.0 µs",
        "852 ms",
    ]
    assert show.amount(302.4, "MB") == "302 MB"
    assert show.amount(0.071, "share") == "7.1%"


def test_every_benchmark_has_a_module_and_every_budget_a_benchmark() -> None:
    assert [name for name in registry.QUESTIONS if not (ROOT / f"benchmarks/{name}.py").exists()] == []
    assert {budget.comparison.partition("/")[0] for budget in budgets.read()} <= registry.QUESTIONS.keys()


def test_a_page_is_filled_from_the_numbers_of_a_run() -> None:
    run = sample_run()
    page = "Before\n<!-- begin: agents -->\nold\n<!-- end: agents -->\nAfter\n"
    once = pages.filled(page, pages.parts_of(run))
    assert "| a title | 200 ms | **100 ms** |" in once
    assert "| | Claude Code | Pegboard |".replace("| |", "|  |") in once
    assert "old" not in once
    assert once.startswith("Before\n")
    assert once.endswith("After\n")
    assert pages.filled(once, pages.parts_of(run)) == once


def sample_run() -> dict[str, object]:
    machine = {"processor": "P", "cores": 2, "memory_gb": 8, "system": "Linux", "load": 0.1}
    agents = comparison("agents/read", claude_code=0.2, pegboard=0.1)
    run = {"machine": machine, "versions": {"Python": "3.13"}, "commit": "abc", "date": "2026-01-01", "seconds": 60}
    return {**run, "pace": "short", "skipped": {}, "broken": {}, "comparisons": [agents, trend()]}


def trend() -> dict[str, object]:
    points = {"0 rules": 0.0, "20 rules": 20.0, "2,000 rules": 2000.0}
    samples = {"0 rules": [1e-5], "20 rules": [2e-5], "2,000 rules": [9e-5]}
    return Comparison("rules/read", "a title", samples, "20 rules", CPU, axis="rules", points=points).data()


def test_a_trend_is_drawn_the_same_each_time() -> None:
    picture = plot.draw("What more rules cost", [trend()])
    assert picture == plot.draw("What more rules cost", [trend()])
    root = ElementTree.fromstring(picture)
    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)  # More is higher up.


def test_the_pages_hold_the_numbers_of_the_recorded_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pages", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not pages.RESULTS.exists(), reason="no run is recorded yet")
def test_the_recorded_run_is_whole() -> None:
    run = json.loads(pages.RESULTS.read_text())
    assert run["broken"] == {}
    assert run["pace"] in ("short", "full")
    measured = {one["name"].partition("/")[0] for one in run["comparisons"]}
    assert measured | run["skipped"].keys() == registry.QUESTIONS.keys()


def test_one_benchmark_runs_and_writes_its_numbers(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    command = [sys.executable, "-m", "benchmarks", "rules", "--quick", "--json", str(file), "--cache", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rules/read: deciding about a call: read (CPU time; reference: 20 rules)" in done.stdout
    run = json.loads(file.read_text())
    assert run["commit"] or not (ROOT / ".git").exists()
    assert [row["case"] for row in run["comparisons"][0]["rows"]] == ["0 rules", "20 rules", "200 rules", "2,000 rules"]
    assert "2,000 rules:" in done.stdout.partition("Budgets")[2]


def test_a_benchmark_that_cannot_run_here_is_skipped_with_a_note(tmp_path: Path) -> None:
    program = (
        "import sys; from benchmarks import __main__ as entry, registry; from benchmarks.harness import Pace, Skip\n"
        "def unable(pace): raise Skip('there is no moon'); yield\n"
        "registry.load = lambda name: unable\n"
        "print(entry.run(['turns'], Pace('quick'))['skipped'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "{'turns': 'there is no moon'}" in done.stdout, done.stderr


def test_the_script_for_agents_drives_pegboard_from_start_to_exit(tmp_path: Path) -> None:
    work = tmp_path / "work"
    fill(work)
    (work / "tree").mkdir()
    (work / "tree/a.py").write_text("word12 word4 word4\n")
    samples = Play(pegboard(tmp_path / "home"), whole_script(work, 1)).run(work)
    assert samples.keys() >= {"start", "first Bash", "Edit", "10 Edits", "Grep", "overlap", "exit", "peak memory"}
    assert (work / "edited.txt").read_text() == "one\ntwo edited\ncount 2\nfour\nfive\n"
    assert (work / "ten9.txt").read_text() == "one\ntwo ten9\ncount 1\nfour\nfive\n"


def test_calls_are_worded_for_each_agent() -> None:
    edit = {"file": "a", "old": "x", "new": "y"}
    assert call_of("pegboard", "edit", edit) == ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"})
    assert call_of("opencode", "edit", edit) == ("edit", {"filePath": "a", "oldString": "x", "newString": "y"})
    assert call_of("pi", "edit", edit) == ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]})
    assert call_of("pi", "glob", {"pattern": "*"}) == ("find", {"pattern": "*"})


def test_a_pace_makes_runs_shorter() -> None:
    assert [Pace(name).rounds(15) for name in ("full", "short", "quick")] == [15, 5, 2]
    assert [Pace(name).size(100, 5) for name in ("full", "short", "quick")] == [100, 100, 5]
