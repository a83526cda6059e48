"""What the model is told about skills before it uses one: names and descriptions, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from pegboard_skill.skill_file import Skill

INTRODUCTION = """\
Skills are instructions for particular tasks. When one of these is meant for your task, load it with the tool \
Skill before you begin:"""
SHORTEST = 20
"""A description that would be cut below this says nothing; then names must do."""


def lines_for(skills: Sequence[Skill], budget: int) -> list[str]:
    """A line for each skill. Where all together are too long, the longest descriptions are cut first."""
    names = [f"- {skill.name}" for skill in skills]
    left = budget - sum(len(name) + 3 for name in names)  # A colon, a blank, the end of the line.
    share = _share([len(skill.head.description) for skill in skills], left)
    if share >= SHORTEST:
        return [f"{name}: {_cut(skill, share)}" for name, skill in zip(names, skills, strict=True)]
    return _names_alone([skill.name for skill in skills], budget)


def _share(lengths: Sequence[int], budget: int) -> int:
    """The length at which the longest have to be cut, so that all fit."""
    left, share = budget, 0
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
    return max(max(lengths, default=0), SHORTEST)


def _cut(skill: Skill, share: int) -> str:
    words = skill.head.description
    return words if len(words) <= share else words[: share - 1] + "…"


def _names_alone(names: Sequence[str], budget: int) -> list[str]:
    more = "and {} more; to list them, call the tool Skill with an unknown name"
    left, kept = budget - len(more) - 10, list[str]()
    for name in names:
        left -= len(name) + 2
        if left < 0:
            break
        kept.append(name)
    line = ", ".join(kept)
    return [f"{line}, {more.format(len(names) - len(kept))}" if len(kept) < len(names) else line]
