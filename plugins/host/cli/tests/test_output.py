"""JSON that commands write without `json`, and command lines that they read without a parser."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_cli.given_settings import switches
from pegboard_cli.output import indented
from pegboard_cli.tools_command import parsed

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
KEYS = st.text() | st.integers() | st.booleans() | st.sampled_from(["name", "tokens", "açaí"])
DATA = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner))


@given(DATA)
@settings(max_examples=60, deadline=None)
def test_indented_writes_what_json_writes(data: object) -> None:
    assert indented(data) == json.dumps(data, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("words", [[], ["--json"], ["--all", "--json"], ["--json", "--json"], ["--request"]])
def test_switches_reads_what_the_parser_reads(words: list[str]) -> None:
    found = switches(words, "json", "all", "request")
    by_parser = parsed(words)
    assert found
    assert all(getattr(found, name, None) == getattr(by_parser, name) for name in (*vars(found), *FROM_SETTINGS))


FROM_SETTINGS = ("cwd", "settings", "only", "no_family", "no_tool", "plugin_dir", "mcp_config")


@pytest.mark.parametrize("words", [["json"], ["--jso"], ["--"], ["--json", "show"], ["--cwd", "x"], ["--help"], ["-h"]])
def test_switches_leaves_everything_else_to_the_parser(words: list[str]) -> None:
    assert switches(words, "json", "all", "request") is None
