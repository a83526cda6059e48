"""Print comparisons and budgets for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .budgets import Verdict

SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def amount(value: float, unit: str) -> str:
    """A number with a unit that suits its size, in three digits."""
    if unit == "s":
        scale, unit = next(((scale, name) for scale, name in SCALES if value >= scale), SCALES[-1])
        value /= scale
    if unit == "share":
        return f"{value:.1%}"
    if unit == "instructions":
        value, unit = value / 1e6, "M instructions"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def comparison_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """A comparison as a table."""
    yield f"{data['name']}: {data['title']} ({data['measure']}; reference: {data['reference']})"
    width = max(len(row["case"]) for row in data["rows"])
    for row in data["rows"]:
        low, high = amount(row["low"], data["unit"]), amount(row["high"], data["unit"])
        middle = amount(row["median"], data["unit"])
        yield f"  {row['case']:<{width}}  {middle:>12}  ({low} to {high}, n={row['count']})  {row['ratio']:.2f} x"
    yield from (f"  {note}" for note in data["notes"])


def verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The summary: every budget, those that are missed marked."""
    if not verdicts:
        return
    width = max(len(one.budget.comparison) for one in verdicts)
    yield "Budgets"
    for one in verdicts:
        reason = f" ({one.budget.why})" if one.budget.why and one.met is False else ""
        yield f"  {one.mark:<12}  {one.budget.comparison:<{width}}  {one.budget.case}: {one.text}{reason}"
    missed = sum(one.met is False for one in verdicts)
    measured = sum(one.met is not None for one in verdicts)
    yield f"{measured} of {len(verdicts)} budgets were measured, {missed} missed."
