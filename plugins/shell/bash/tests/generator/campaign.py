"""Make up commands, ask about each, run what is approved, and keep what did harm with the seed that made it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from generator.box import Box, Outcome
from generator.commands import command, editing, globbed
from generator.judging import Judge
from generator.world import OPTION_WORLDS, WORLDS

SLOWEST = 2.0
"""Seconds of the CPU that a decision may take: what is made up here is a few thousand characters long at most."""
PROTECTED = (".git", ".bashrc", ".bash_profile", ".pegboard", ".ssh", ".vimrc", ".gitconfig", ".profile", ".zshrc")


@dataclass(frozen=True, slots=True)
class Trial:
    """A command, where it runs and in which mode."""

    seed: int
    command: str
    world: str
    mode: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A command that was approved and did harm, or that could not be decided about."""

    trial: Trial
    kinds: tuple[str, ...]
    details: tuple[str, ...]

    def __str__(self) -> str:
        what = f"{', '.join(self.kinds)} ({', '.join(self.details[:4])})"
        return f"seed {self.trial.seed}, {self.trial.mode}, world {self.trial.world}: {self.trial.command!r}: {what}"


@dataclass(slots=True)
class Tally:
    """How a campaign went."""

    generated: int = 0
    approved: int = 0
    timed_out: int = 0
    findings: list[Finding] = field(default_factory=list)
    slow: list[tuple[Trial, float]] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.generated} generated, {self.approved} approved and run, {self.timed_out} ran out of time, "
            f"{len(self.findings)} harmful, {len(self.slow)} slow to decide"
        )


def trial_of(seed: int) -> Trial:
    """What a seed stands for."""
    chance = random.Random(seed * 2 + 1)
    share = chance.random()
    mode = "acceptEdits" if share < 0.05 else "plan" if share < 0.08 else "default"
    if mode == "default" and chance.random() < 0.04:
        return Trial(seed, globbed(seed), chance.choice(OPTION_WORLDS), mode)
    text = editing(seed) if mode == "acceptEdits" else command(seed)
    usual = chance.choices(("plain", "names", "linked"), (60, 25, 15))[0]
    world = chance.choice((*WORLDS, *("plain",) * 6)) if "git" in text else usual
    return Trial(seed, text, world, mode)


def harm_of(trial: Trial, outcome: Outcome) -> Finding | None:
    """The harm that a command did; where files may be edited, only what is protected or outside counts as written."""
    kinds, changed = list(outcome.kinds), outcome.changed
    if trial.mode == "acceptEdits":
        inside = f"{trial.world}/repo/"
        changed = tuple(path for path in changed if not _may_change(path, inside))
        if "wrote" in kinds and not any(not path.startswith("marks") for path in changed):
            kinds.remove("wrote")
    if not kinds:
        return None
    return Finding(trial, tuple(kinds), (*changed, *outcome.read, *outcome.shown))


def _may_change(path: str, inside: str) -> bool:
    if path.rstrip("/") == inside.rstrip("/"):
        return True
    return path.startswith(inside) and not any(
        name in PROTECTED for name in path.removeprefix(inside).split("/") if not path.startswith(f"{inside}sub/")
    )


class Campaign:
    """One sandbox and one judge for as many commands as wanted."""

    def __init__(self, base: Path, box: Box, judge: Judge | None = None) -> None:
        os.environ["HOME"] = str(base / "home")  # The judge looks here for what `~` means.
        self.box, self.judge, self.tally = box, judge or Judge(base), Tally()

    async def attempt(self, trial: Trial) -> Finding | None:
        """Ask about one command, and run it if it is approved."""
        verdict = await self.judge.decide(trial.command, trial.world, trial.mode)
        self.tally.generated += 1
        if verdict.seconds > SLOWEST:
            self.tally.slow.append((trial, verdict.seconds))
        if verdict.failure:
            return Finding(trial, ("failed to decide",), (verdict.failure,))
        if not verdict.approved:
            return None
        self.tally.approved += 1
        outcome = self.box.run(trial.world, trial.command, verdict.env)
        self.tally.timed_out += outcome.timed_out
        return harm_of(trial, outcome)

    async def run(self, seeds: Iterable[int], most: int | None = None) -> Tally:
        """Try all of these; stop early after so many findings."""
        for seed in seeds:
            finding = await self.attempt(trial_of(seed))
            if finding is not None:
                self.tally.findings.append(finding)
                if most is not None and len(self.tally.findings) >= most:
                    break
        return self.tally
