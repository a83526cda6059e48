"""A trend as an SVG picture: what more of something costs. The same data gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .show import amount

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 40, 50
COLOURS = ("#1f6feb", "#d1570a", "#2a8a4a", "#8250df", "#b02a5b", "#57606a")
STYLE = "text{font:12px sans-serif;fill:#57606a}.title{font-size:14px}.axis{stroke:#8c959f}.grid{stroke:#d0d7de}"


def points_of(trend: Mapping[str, Any]) -> list[tuple[float, float]]:
    """How much there is, and what it costs."""
    return sorted(
        (trend["points"][row["case"]], row["median"]) for row in trend["rows"] if row["case"] in trend["points"]
    )


class Scale:
    """From a number to a position: logarithmic, with zero at the beginning."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        positive = [value for value in values if value > 0] or [1.0]
        self._low, self._high = math.log10(min(positive)), math.log10(max(positive))
        if self._high - self._low < 0.3:  # A flat line is drawn flat, not as noise.
            self._low, self._high = self._low - 0.5, self._high + 0.5
        self._has_zero = any(value <= 0 for value in values)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = 0.0 if value <= 0 else (math.log10(value) - self._low) / (self._high - self._low)
        if self._has_zero and value > 0:
            share = 0.12 + 0.88 * share
        return round(self._start + share * (self._end - self._start), 1)


def draw(title: str, trends: Sequence[Mapping[str, Any]]) -> str:
    """The trends of one axis in one picture; both axes are logarithmic."""
    lines = {trend["title"]: points_of(trend) for trend in trends}
    unit, axis = trends[0]["unit"], trends[0]["axis"]
    across = Scale([x for points in lines.values() for x, _ in points], LEFT, WIDTH - RIGHT)
    up = Scale([y for points in lines.values() for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>',
        f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(axis)}</text>',
    ]
    parts += [
        f'<text x="{across(x)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:,.0f}</text>'
        for x in sorted({x for points in lines.values() for x, _ in points})
    ]
    for y in ticks([y for points in lines.values() for _, y in points]):
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{up(y)}" x2="{WIDTH - RIGHT}" y2="{up(y)}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{up(y) + 4}" text-anchor="end">{escape(amount(y, unit))}</text>')
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{across(x)},{up(y)}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x)}" cy="{up(y)}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(f'<circle cx="{WIDTH - RIGHT + 14}" cy="{TOP + 18 * number}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 22}" y="{TOP + 4 + 18 * number}">{escape(short(name))}</text>')
    return "\n".join([*parts, "</svg>", ""])


def ticks(values: Sequence[float]) -> list[float]:
    """The least and the most, and what is half way between them."""
    low, high = min(values), max(values)
    return sorted({low, high, math.sqrt(low * high)} if low > 0 and high / low > 1.6 else {high})


def short(name: str) -> str:
    """A name that fits beside the plot."""
    last = name.rpartition(": ")[2].replace("`", "")
    return last if len(last) <= 22 else last[:21] + "…"
