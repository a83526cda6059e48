"""`pegboard tools search` as people use it."""

import json
import os
import subprocess
import sys

import pytest

from pegboard_testing.warm import warm


@pytest.fixture
def pegboard(tmp_path):
    def run(*words, **env):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PEGBOARD_", "XDG_"))}
        return subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            capture_output=True,
            text=True,
            env={**clean, "HOME": str(warm(tmp_path)), **env},
            cwd=tmp_path,
            check=False,
        )

    return run


def test_search_lists_the_best_tools_with_their_scores(pegboard):
    made = pegboard("tools", "search", "edit", "a", "file")
    assert made.returncode == 0
    head, first, *_ = made.stdout.splitlines()
    assert head.split() == ["TOOL", "SERVER", "SCORE", "DESCRIPTION"]
    assert first.split()[:2] == ["Edit", "files"]


def test_explain_shows_what_each_field_contributes_and_adds_up(pegboard):
    made = pegboard("tools", "search", "edit a file", "--explain", "--json")
    rows = json.loads(made.stdout)["tools"]
    assert rows[0]["name"] == "Edit"
    for row in rows:
        assert sum(row["fields"].values()) == pytest.approx(row["score"])
        assert set(row["words"]) == set(row["fields"])
    assert "name " in pegboard("tools", "search", "edit a file", "--explain").stdout


def test_json_without_explain_is_short(pegboard):
    found = json.loads(pegboard("tools", "search", "select:Read", "--json").stdout)
    assert found == {
        "query": "select:Read",
        "tools": [{"name": "Read", "server": "files", "score": None}],
        "remarks": [],
    }


def test_nothing_found_says_which_words_and_what_there_is(pegboard):
    made = pegboard("tools", "search", "xylophone")
    assert made.returncode == 0
    assert made.stdout.startswith("No tool mentions 'xylophone'.\nNo tool fits this query.\nTools come from ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["search"], 'search needs words, such as: pegboard tools search "send a message"'),
        (["search", " "], 'search needs words, such as: pegboard tools search "send a message"'),
        (["--explain"], "--explain goes with search, such as: pegboard tools search email --explain"),
        (["show"], "show needs the name of a tool, such as: pegboard tools show Read"),
    ],
)
def test_mistakes_are_explained(pegboard, words, sentence):
    made = pegboard("tools", *words)
    assert made.returncode == 2
    assert sentence in made.stderr


def test_without_the_plugin_the_command_says_what_to_install(pegboard):
    made = pegboard("tools", "search", "edit", PEGBOARD_DISABLE="discovery")
    assert made.returncode == 2
    assert "Searching needs pegboard-toolsearch" in made.stderr
