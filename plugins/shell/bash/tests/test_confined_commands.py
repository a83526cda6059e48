"""Confined, no made-up command has any effect, approved or not."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from generator.box import Box, why_unavailable
from generator.campaign import trial_of
from generator.world import CANARIES, make_worlds

confine = pytest.importorskip("pegboard_confine", reason="the library that confines commands is not installed")

COUNT = 20_000 if os.environ.get("PEGBOARD_TEST_SLOW") == "1" else 500
LONGEST = 9_000

pytestmark = [
    pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable()),
    pytest.mark.skipif(confine.available().kind != confine.LANDLOCK, reason="there is no Landlock here"),
]


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    base = tmp_path_factory.mktemp("confined").resolve() / "b"
    make_worlds(base)
    with Box(base, [path for path in sys.path if path]) as made:
        yield made


def effects(outcome) -> tuple[object, ...]:
    """What must not be. The history of git holds what was denied, and belongs to the project."""
    shown = tuple(each for each in outcome.shown if each != CANARIES["DENIED"])
    return (*outcome.changed, *outcome.read, *shown, *(["network"] if outcome.network else []))


def test_commands_do_run_in_there(box):
    assert box.run("plain", f"cat notes.txt && echo {CANARIES['HOME']}", {}).shown == (CANARIES["HOME"],)


@pytest.mark.timeout(36_000 if COUNT > 1_000 else 300)
def test_no_made_up_command_has_an_effect(box, record_property):
    first = int(os.environ.get("PEGBOARD_TEST_SEED") or secrets.randbelow(10**9) * 1000)
    record_property("seeds", f"{first} to {first + COUNT - 1}")
    for seed in range(first, first + COUNT):
        trial = trial_of(seed)
        if len(trial.command) < LONGEST:
            found = effects(box.run(trial.world, trial.command, {}))
            assert not found, f"seed {seed}, world {trial.world}: {trial.command!r}: {found}"


@pytest.mark.parametrize(
    "text", ["touch x", "./evil", "cat ../outside/secret", "cat secrets/key", "echo > /dev/tcp/127.0.0.1/8099"]
)
def test_plain_harm_has_no_effect(box, text):
    assert effects(box.run("plain", text, {})) == ()
