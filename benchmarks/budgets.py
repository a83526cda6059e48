"""Budgets: how much a case may cost, as a ratio within one run. The numbers are in budgets.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("budgets.toml")


@dataclass(frozen=True)
class Budget:
    """Limits of one case: ratios by reference, or the most that it may cost in the unit of its comparison."""

    comparison: str
    case: str
    limits: Mapping[str, float] = field(default_factory=dict)
    any: bool = False
    """Whether one of the limits is enough."""
    most: float | None = None
    why: str = ""
    """Why it is missed, where that is known."""


@dataclass(frozen=True)
class Verdict:
    """What came of a budget in a run."""

    budget: Budget
    measured: Mapping[str, float]
    """Ratios by reference; `most` for a limit without one. References that did not run are missing."""
    met: bool | None
    """None if nothing was measured."""

    @property
    def mark(self) -> str:
        """One word."""
        return {True: "met", False: "MISSED", None: "not measured"}[self.met]

    @property
    def text(self) -> str:
        """Measured and allowed, in words."""
        limits = dict(self.budget.limits)
        if self.budget.most is not None:
            limits["most"] = self.budget.most
        parts = []
        for name, limit in limits.items():
            measured = f"{self.measured[name]:.3g}" if name in self.measured else "-"
            against = "" if name == "most" else f" x {name}"
            parts.append(f"{measured} of {limit:g}{against}")
        return (" or " if self.budget.any else ", ").join(parts)


def read(path: Path = FILE) -> list[Budget]:
    """Every budget of a file."""
    return [Budget(**given) for given in tomllib.loads(path.read_text("utf-8"))["budget"]]


def judge(budgets: Iterable[Budget], comparisons: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """Hold the comparisons of a run against the budgets."""
    medians = {one["name"]: {row["case"]: row["median"] for row in one["rows"]} for one in comparisons}
    return [_verdict(budget, medians.get(budget.comparison, {})) for budget in budgets]


def _verdict(budget: Budget, medians: Mapping[str, float]) -> Verdict:
    ours = medians.get(budget.case)
    if ours is None:
        return Verdict(budget, {}, None)
    measured = {name: ours / medians[name] for name in budget.limits if medians.get(name)}
    held = [measured[name] <= budget.limits[name] for name in measured]
    if budget.most is not None:
        measured["most"] = ours
        held.append(ours <= budget.most)
    if not held:
        return Verdict(budget, {}, None)
    return Verdict(budget, measured, any(held) if budget.any else all(held))
