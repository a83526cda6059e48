"""Services that plugins and applications bring to the context of a call."""

import pytest

from pegboard import Board, ToolError, hookimpl
from pegboard.context import Services
from pegboard.settings import Settings


class Cache:
    @hookimpl
    def register_services(self, settings, env):
        return {"acme.cache": {"home": env["HOME"]}, "files": "theirs"}


class Other:
    @hookimpl
    def register_services(self):
        return {"acme.cache": "lost", "acme.clock": "ticks"}


def test_a_service_is_reached_by_its_name():
    ctx = Board(Settings(), [], plugins=[Cache()], env={"HOME": "/there"}).context()
    assert ctx.service("acme.cache") == {"home": "/there"}


def test_a_service_with_an_attribute_is_reached_both_ways():
    ctx = Board(Settings(), [], plugins=[Cache()], env={"HOME": "/there"}).context()
    assert ctx.files == ctx.service("files") == "theirs"


def test_among_equal_names_the_first_plugin_counts():
    ctx = Board(Settings(), [], plugins=[Cache(), Other()], env={"HOME": "/there"}).context()
    assert ctx.service("acme.cache") == {"home": "/there"}
    assert ctx.service("acme.clock") == "ticks"


def test_an_application_that_brings_services_is_the_only_source():
    ctx = Board(Settings(), [], plugins=[Cache()], env={}, services=Services()).context()
    with pytest.raises(ToolError, match=r"This host does not provide acme\.cache to tools"):
        ctx.service("acme.cache")
