"""Each mend taken back, one at a time: within 20,000 made-up commands the fuzzer finds what was mended."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import anyio
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from generator.box import Box, why_unavailable
from generator.campaign import Campaign, trial_of
from generator.mutants import MUTANTS
from generator.world import make_worlds

from pegboard_bash.repository import probe

MOST = 20_000
FIRST = 50_000_000
SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
QUICK = (
    "a number with its base",
    "behind the head of a here-document",
    "copies of whole folders",
    "rpm over the network",
)

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mends").resolve() / "b"
    make_worlds(folder)
    return folder


@pytest.fixture(scope="module")
def box(base):
    with Box(base) as made:
        yield made


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS])
def test_the_fuzzer_finds_what_a_mend_mended(mutant, base, box, monkeypatch):
    if not SLOW and mutant.name not in QUICK:
        pytest.skip("set PEGBOARD_TEST_SLOW=1 to take back each mend")
    monkeypatch.setenv("HOME", str(base / "home"))
    mutant.patch(monkeypatch)
    probe._known.clear()
    assert anyio.run(first_found, mutant, Campaign(base, box)), f"not found within {MOST:,} commands"


async def first_found(mutant, campaign):
    """Commands that the mend cannot be about are counted, but not tried."""
    about = re.compile(mutant.about)
    for seed in range(FIRST, FIRST + MOST):
        trial = trial_of(seed)
        if not about.search(trial.command):
            continue
        finding = await campaign.attempt(trial)
        if mutant.is_slow and campaign.tally.slow:
            return True
        if (
            finding
            and re.search(mutant.kinds or ".", " ".join(finding.kinds))
            and "failed to decide" not in finding.kinds
        ):
            return True
    return False
