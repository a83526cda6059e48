"""Environments for tests: wheels are built once, a virtual environment is made where one is asked for."""

from __future__ import annotations

import fcntl
import os
from binascii import crc32
from collections.abc import Callable
from pathlib import Path

import pytest

from .venvs import Environment, Supplies

MakeEnvironment = Callable[..., Environment]
Share = Callable[[str, Callable[[Path], object]], Path]


ALWAYS_TWICE = ("core/", "plugins/host/session/", "plugins/support/processes/")
"""What everything else rests on is tried on both event loops in each run."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a short run of the whole, one test in three is repeated on the second event loop, chosen by its name.

    Of a test with the mark `sample`, one case in so many is run: its cases are slow and much alike.
    """
    if os.environ.get("PEGBOARD_TEST_SLOW"):
        return
    names = {item.nodeid for item in items}
    left_out = {name for name in names if _is_repeated(name, names) and crc32(name.encode()) % 3}
    left_out |= _beyond_the_sample(items)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def _beyond_the_sample(items: list[pytest.Item]) -> set[str]:
    cases: dict[str, list[str]] = {}
    taken: dict[str, int] = {}
    for item in items:
        if mark := item.get_closest_marker("sample"):
            test = item.nodeid.partition("[")[0]
            cases.setdefault(test, []).append(item.nodeid)
            taken[test] = mark.args[0]
    # By name, so that all workers choose the same; the order of the items differs from run to run.
    return {name for test, names in cases.items() for at, name in enumerate(sorted(names)) if at % taken[test]}


def _is_repeated(name: str, names: set[str]) -> bool:
    return "trio" in name and not name.startswith(ALWAYS_TWICE) and name.replace("trio", "asyncio") in names


@pytest.fixture(scope="session")
def share(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Share:
    """Call `share(name, make)` for a folder of this name that `make(folder)` has filled once for all workers."""
    base = tmp_path_factory.getbasetemp()
    root = base if worker_id == "master" else base.parent

    def shared(name: str, make: Callable[[Path], object]) -> Path:
        folder = root / name
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (root / f"{name}.made").exists():
                folder.mkdir(parents=True, exist_ok=True)
                make(folder)
                (root / f"{name}.made").touch()
        return folder

    return shared


@pytest.fixture(scope="session")
def supplies(share: Share) -> Supplies:
    """Our wheels and the libraries they need; several test workers share them."""
    return Supplies(share("supplies", lambda folder: Supplies(folder).make()))


@pytest.fixture
def new_environment(supplies: Supplies, tmp_path: Path) -> MakeEnvironment:
    """Make an environment with the core, the command line, and what else of ours is named."""

    def make(*ours: str, name: str = "environment") -> Environment:
        return Environment(tmp_path / name, supplies, *ours)

    return make


@pytest.fixture
def environment(new_environment: MakeEnvironment) -> Environment:
    """An environment with the core, the command line and the Read tool."""
    return new_environment("pegboard-read")
