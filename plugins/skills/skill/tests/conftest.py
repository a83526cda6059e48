"""A repository and a home with skills, and boards that work there."""

from __future__ import annotations

import pytest

from .world import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return made


@pytest.fixture
def anyio_backend():
    """One event loop is enough here: skills start nothing of their own."""
    return "asyncio"
