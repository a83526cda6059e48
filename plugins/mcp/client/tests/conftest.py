"""What the tests of the client share."""

import pytest

from .world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def anyio_backend():
    return "asyncio"
