"""Switching things off, in real environments: what is off is not imported, and later layers only take away."""

from __future__ import annotations

import json

import pytest

from .venvs import Environment, Supplies, tool_source

ALL = ["Glob", "Read", "Hello"]


@pytest.fixture(scope="module")
def shared(supplies: Supplies, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Three families: files (Read), search (a stand-in that owns Glob) and a stranger's (Hello)."""
    made = Environment(tmp_path_factory.mktemp("features") / "environment", supplies, "pegboard-read")
    made.plugin("pegboard-glob", tool_source("Glob"), {"search.glob": "pegboard_glob"})
    made.plugin("acme-hello", tool_source("Hello"))
    return made


@pytest.fixture
def environment(shared: Environment) -> Environment:
    """The shared environment without settings and without an index."""
    shared.forget()
    shared.settings()
    (shared.site / "pegboard_features.json").unlink(missing_ok=True)
    return shared


LEVERS = ("settings", "variable", "option")


def names(environment: Environment, key: str, word: str, lever: str) -> list[str]:
    """The tools that are left after one lever was pulled."""
    if lever == "settings":
        environment.settings(**{key: [word]})
        return list(environment.tools())
    if lever == "variable":
        return list(environment.tools(**{f"PEGBOARD_{key.upper()}": word}))
    return list(environment.tools("--only" if key == "only" else "--no-family", word))


@pytest.mark.parametrize("lever", LEVERS)
@pytest.mark.parametrize("word", ["search", "search.glob", "pegboard-glob", "Pegboard_Glob", "Glob"])
def test_every_lever_disables_by_family_entry_distribution_and_tool(
    environment: Environment, lever: str, word: str
) -> None:
    assert names(environment, "disable", word, lever) == ["Read", "Hello"]


@pytest.mark.parametrize("lever", LEVERS)
@pytest.mark.parametrize("word", ["search", "search.glob", "pegboard-glob", "Pegboard_Glob", "Glob"])
def test_every_lever_chooses_by_family_entry_distribution_and_tool(
    environment: Environment, lever: str, word: str
) -> None:
    assert names(environment, "only", word, lever) == ["Glob"]


@pytest.mark.parametrize("word", ["acme", "acme.hello", "acme-hello", "Hello"])
def test_a_strangers_tool_can_be_chosen_in_the_same_four_ways(environment: Environment, word: str) -> None:
    assert list(environment.tools(PEGBOARD_ONLY=word)) == ["Hello"]
    assert list(environment.tools(PEGBOARD_DISABLE=word)) == ["Glob", "Read"]


def test_each_layer_takes_away_from_what_the_others_left(environment: Environment) -> None:
    environment.settings(disable=["acme"])

    assert list(environment.tools("--no-tool", "Read")) == ["Glob"]
    assert list(environment.tools("--only", "files", PEGBOARD_ONLY="files,search")) == ["Read"]
    assert list(environment.tools("--only", "files,search", PEGBOARD_DISABLE="files")) == ["Glob"]


def test_an_absent_tool_names_the_layer_that_took_it_out(environment: Environment) -> None:
    environment.settings(disable=["search"])
    gone = environment.absent(PEGBOARD_ONLY="search")

    settings = environment.home / ".pegboard/settings.json"
    assert gone["Glob"]["reason"] == f"The family search is disabled by {settings}."
    assert gone["Read"]["reason"] == "The family files is not among those chosen by PEGBOARD_ONLY: search."
    assert {gone["Glob"]["layer"], gone["Read"]["layer"]} == {"features"}


def test_a_disabled_plugin_is_listed_as_disabled_with_who_said_so(environment: Environment) -> None:
    row = environment.plugins(PEGBOARD_DISABLE="acme")["acme-hello:acme.hello"]

    assert (row["state"], row["reason"]) == ("disabled", "The family acme is disabled by PEGBOARD_DISABLE.")


MODULES = "import sys; from pegboard_cli.main import main; main(sys.argv[1:]); print(*sys.modules)"


@pytest.mark.parametrize("command", ["tools", "plugins", "doctor", "features"])
@pytest.mark.parametrize("variable", [{"PEGBOARD_DISABLE": "acme,search"}, {"PEGBOARD_ONLY": "files"}])
def test_a_disabled_family_is_not_imported_even_to_fill_an_empty_index(
    environment: Environment, command: str, variable: dict[str, str]
) -> None:
    done = environment.start(environment.python, "-c", MODULES, command, **variable)

    loaded = set(done.stdout.split())
    assert {"acme_hello", "pegboard_glob"}.isdisjoint(loaded)
    assert ("pegboard_read" in loaded) == (command != "features")


def test_a_baked_choice_can_be_narrowed_and_never_widened(environment: Environment) -> None:
    (environment.site / "pegboard_features.json").write_text('{"only": ["files", "search"]}')
    environment.settings(only=["files", "acme"])

    assert list(environment.tools()) == ["Read"]
    assert list(environment.tools("--only", "acme,files")) == ["Read"]
    assert list(environment.tools("--only", "acme", PEGBOARD_ONLY="acme")) == []
    assert list(environment.tools(PEGBOARD_DISABLE="files")) == []


def test_a_baked_choice_names_its_file_as_the_reason(environment: Environment) -> None:
    baked = environment.site / "pegboard_features.json"
    baked.write_text('{"only": ["files"]}')

    assert environment.absent()["Glob"]["reason"].endswith(f"chosen by {baked}: files.")


def test_a_damaged_baked_file_allows_nothing(environment: Environment) -> None:
    (environment.site / "pegboard_features.json").write_text('{"only": ')
    done = environment.pegboard("tools", "--json")

    assert json.loads(done.stdout) == []
    assert "pegboard_features.json:1:" in done.stderr


@pytest.mark.parametrize(
    ("word", "meant"),
    [("serach", "search"), ("Raed", "Read"), ("acme-helo", "acme-hello"), ("files.raed", "files.read")],
)
def test_a_switch_that_names_nothing_is_reported_with_the_nearest_name(
    environment: Environment, word: str, meant: str
) -> None:
    done = environment.pegboard("tools", "--json", PEGBOARD_DISABLE=word)

    assert [row["name"] for row in json.loads(done.stdout)] == ALL
    expected = f"PEGBOARD_DISABLE: {word!r} names no family, plugin, distribution or tool. Did you mean {meant!r}?"
    assert expected in done.stderr


def test_a_disabled_tool_leaves_the_bytes_of_the_request(environment: Environment) -> None:
    assert "Glob" not in environment.prompts(PEGBOARD_DISABLE="Glob")
    assert list(environment.prompts()) == ALL


def test_a_former_name_of_a_built_in_switches_it_off(environment: Environment) -> None:
    environment.plugin("pegboard-agent", tool_source("Agent"), {"agents.agent": "pegboard_agent"})
    try:
        with_agent = list(environment.tools())
        without = environment.pegboard("tools", "--json", PEGBOARD_DISABLE="Task")
    finally:
        environment.uninstall("pegboard-agent")

    assert "Agent" in with_agent
    assert "Agent" not in [row["name"] for row in json.loads(without.stdout)]
    assert without.stderr == ""
