"""`python -m generator`: a campaign from the command line, in the folder that holds this package."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path

import anyio

from generator.box import Box, why_unavailable
from generator.campaign import Campaign, Finding, trial_of
from generator.shrinking import shrunk
from generator.world import make_worlds

PROGRESS = 5_000
"""A line after so many commands."""


def main() -> int:
    """Run a campaign and print what was found."""
    parser = argparse.ArgumentParser(prog="generator", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first seed; another one each time unless given")
    parser.add_argument("--count", type=int, default=10_000, help="how many commands to make up")
    parser.add_argument("--most", type=int, default=100, help="stop after so many findings")
    parser.add_argument("--shrink", type=int, default=0, help="shorten so many findings")
    given = parser.parse_args()
    if why := why_unavailable():
        print(why, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    return anyio.run(_campaign, given)


async def _campaign(given: argparse.Namespace) -> int:
    first = secrets.randbelow(10**9) * 1000 if given.seed is None else given.seed
    print(f"seeds {first} to {first + given.count - 1}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pegboard-differences-") as folder:
        base = Path(folder).resolve() / "b"
        make_worlds(base)
        with Box(base) as box:
            campaign = Campaign(base, box)
            try:
                await _try_all(campaign, range(first, first + given.count), given, base)
            except KeyboardInterrupt:
                print("stopped", flush=True)
            finally:
                print(f"{campaign.tally}; {time.monotonic() - began:.0f} s", flush=True)
    for trial, seconds in campaign.tally.slow:
        print(f"slow: {seconds:.1f} s: seed {trial.seed}: {trial.command[:200]!r}")
    return 1 if campaign.tally.findings or campaign.tally.slow else 0


async def _try_all(campaign: Campaign, seeds: range, given: argparse.Namespace, base: Path) -> None:
    for seed in seeds:
        finding = await campaign.attempt(trial_of(seed))
        if campaign.tally.generated % PROGRESS == 0:
            print(f"up to seed {seed}: {campaign.tally}", flush=True)
        if finding is None:
            continue
        campaign.tally.findings.append(finding)
        number = len(campaign.tally.findings)
        print(f"{campaign.tally.generated}: {finding}", flush=True)
        if number <= given.shrink:
            print(f"    {await _short(finding, base, campaign.box)}", flush=True)
        if number >= given.most:
            break


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


async def _short(finding: Finding, base: Path, box: Box) -> Finding:
    return await shrunk(finding, Campaign(base, box))


if __name__ == "__main__":
    sys.exit(main())
