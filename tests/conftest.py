"""Environments for tests: wheels are built once, a virtual environment is made where one is asked for."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from .venvs import Environment, Supplies

MakeEnvironment = Callable[..., Environment]


@pytest.fixture(scope="session")
def supplies(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Supplies:
    """Our wheels and the libraries they need; several test workers share them."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "supplies"
    made = Supplies(folder)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            made.make()
            (folder / "done").touch()
    return made


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
