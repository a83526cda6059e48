"""What is in the pool, in which order, and the reason for everything that is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pegboard.plugins.builtin import OWNERS
from pegboard.plugins.scan import refused
from pegboard.pool.assembly import assemble
from pegboard.pool.entries import Pool
from pegboard_cli.plugin_rows import plugin_rows
from pegboard_session.model_tools import cache_breakpoints

from .plugin_records import GLOB, HELLO, READ, Plain, plugin, settings


def dynamic(*names: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Tools of a source at run time."""
    source = plugin("server", "mcp.server", *names)
    return [(record, source) for record in source["scan"]["tools"]]


def test_partitions_come_in_order_and_each_is_sorted() -> None:
    strangers = plugin("acme-many", "acme.many", "Zebra", "Ant")
    pool = assemble([strangers, READ, GLOB], settings(), dynamic=dynamic("mcp__b", "mcp__a"))

    assert pool.names == ["Glob", "Read", "Ant", "Zebra", "mcp__a", "mcp__b"]
    assert [entry.partition for entry in pool.entries] == ["built-in"] * 2 + ["third-party"] * 2 + ["dynamic"] * 2


@pytest.mark.parametrize("later", [[HELLO], [plugin("acme-a", "acme.a", "Aardvark"), HELLO]])
def test_a_later_tool_never_changes_a_byte_of_an_earlier_partition(later: list[dict[str, Any]]) -> None:
    before = assemble([READ, GLOB], settings()).request_bytes()
    after = assemble([*later, READ, GLOB], settings(), dynamic=dynamic("AAA")).request_bytes()

    assert after.startswith(before[:-1] + b",")


def test_an_extra_tool_of_a_built_in_plugin_is_not_a_built_in_tool() -> None:
    pool = assemble([plugin("pegboard-read", "files.read", "Read", "Another")], settings())

    assert [(entry.name, entry.partition) for entry in pool.entries] == [
        ("Read", "built-in"),
        ("Another", "third-party"),
    ]


def test_a_name_prefix_does_not_make_a_built_in() -> None:
    (entry,) = assemble([plugin("pegboard-shiny", "files.shiny", "Shiny")], settings()).entries

    assert entry.partition == "third-party"


@pytest.mark.parametrize(
    ("plugins", "names", "breakpoints"),
    [
        ([], [], []),
        ([READ], [], [0]),
        ([READ, GLOB], [], [1]),
        ([READ, GLOB, HELLO], [], [1, 2]),
        ([READ, GLOB, HELLO], ["x", "y"], [1, 4]),
        ([HELLO], ["x"], [1]),
        ([], ["x"], [0]),
    ],
)
def test_cache_breakpoints_end_the_built_ins_and_the_whole(
    plugins: list[dict[str, Any]], names: list[str], breakpoints: list[int]
) -> None:
    assert [*cache_breakpoints(assemble(plugins, settings(), dynamic=dynamic(*names)))] == breakpoints


def test_a_deferred_tool_can_be_called_but_is_listed_only_once_fetched() -> None:
    pool = assemble([READ, HELLO], settings())
    pool.get("Hello").deferred = True  # type: ignore[union-attr]

    def listed(*loaded: str) -> list[str]:
        return [definition["name"] for definition in json.loads(pool.request_bytes(loaded))]

    assert pool.get("Hello") is not None
    assert listed() == ["Read"]
    assert listed("Hello") == ["Read", "Hello"]
    assert cache_breakpoints(pool) == (0,)


def test_the_fingerprint_names_the_list_and_nothing_else() -> None:
    here = assemble([READ, HELLO], settings())
    again = assemble([HELLO, READ], settings(user={"excludedTools": ["Glob"]}), version=7)
    reworded = assemble([READ, plugin("acme-hello", "acme.hello", Plain("Hello", prompt="Other words."))], settings())

    assert here.fingerprint == again.fingerprint
    assert here.fingerprint != reworded.fingerprint


def absent(pool: Pool, name: str) -> tuple[str, str]:
    """The layer that took a tool out, and its reason."""
    (gone,) = [gone for gone in pool.absent if gone.name == name]
    return gone.layer, gone.reason


@pytest.mark.parametrize(
    ("values", "layer", "reason"),
    [
        ({"disable": ["acme"]}, "features", "The family acme is disabled by user.json."),
        ({"disable": ["Hello"]}, "features", "Hello is disabled by user.json."),
        ({"only": ["files"]}, "features", "The family acme is not among those chosen by user.json: files."),
        ({"safeMode": True}, "features", "Safe mode loads built-in plugins only."),
        ({"availableTools": ["Read"]}, "session", "Hello is not in availableTools of user.json."),
        ({"excludedTools": ["Hello"]}, "session", "Hello is in excludedTools of user.json."),
        ({"permissions.deny": ["Hello"]}, "deny-rule", "The rule Hello in user.json denies every call."),
        ({"permissions.deny": ["Hel*"]}, "deny-rule", "The rule Hel* in user.json denies every call."),
    ],
)
def test_an_absent_tool_has_the_layer_and_the_reason(values: dict[str, Any], layer: str, reason: str) -> None:
    pool = assemble([READ, HELLO], settings(user=values))

    assert pool.names == ["Read"]
    assert absent(pool, "Hello") == (layer, reason)
    assert pool.why_absent("Hello") == reason


def test_a_rule_about_some_calls_does_not_hide_the_tool() -> None:
    assert assemble([HELLO], settings(user={"permissions.deny": ["Hello(x)"]})).names == ["Hello"]


def test_every_built_in_that_is_not_here_says_why() -> None:
    broken = {**plugin("pegboard-bash", "shell.bash"), "scan": refused("import-error", "It fell over.")}
    pool = assemble([READ, broken], settings(user={"disable": ["web"]}))

    assert {gone.name for gone in pool.absent} == set(OWNERS) - {"Read"}
    assert absent(pool, "Bash") == ("quarantine", "It fell over.")
    assert absent(pool, "Glob") == ("not-installed", "pegboard-glob is not installed.")
    assert absent(pool, "WebFetch") == ("features", "The family web is disabled by user.json.")
    assert pool.why_absent("Nonsense") == "No installed plugin provides a tool named Nonsense."


def test_excluded_tools_count_only_without_available_tools() -> None:
    both = {"availableTools": ["Hello"], "excludedTools": ["Hello"]}

    assert assemble([READ, HELLO], settings(user=both)).names == ["Hello"]


@pytest.mark.parametrize("key", ["availableTools", "excludedTools"])
def test_an_unknown_name_in_a_session_filter_is_reported_with_the_nearest(key: str) -> None:
    pool = assemble([READ, HELLO], settings(user={key: ["Helo"]}))

    assert [str(notice) for notice in pool.notices] == [
        f"user.json: {key}: there is no tool 'Helo'. Did you mean 'Hello'?"
    ]


def test_a_tool_without_its_program_or_its_platform_is_absent(tmp_path: Path) -> None:
    tools = (Plain("Weld", requires_binaries=("welder",)), Plain("Elsewhere", platforms=("plan9",)))
    pool = assemble([plugin("acme-forge", "acme.forge", *tools)], settings(), env={"PATH": str(tmp_path)})

    assert absent(pool, "Weld")[0] == "missing-binary"
    assert absent(pool, "Elsewhere")[0] == "platform"


@pytest.mark.parametrize("values", [{}, {"strict": False}, {"strict": True}])
def test_a_tool_that_needs_a_setting_is_there_only_with_it(values: dict[str, Any]) -> None:
    forge = [plugin("acme-forge", "acme.forge", Plain("Weld", requires_setting="strict"), "Melt")]
    pool = assemble(forge, settings(user=values))

    assert pool.names == (["Melt", "Weld"] if values.get("strict") else ["Melt"])
    if not values.get("strict"):
        assert absent(pool, "Weld") == ("setting", "Weld is there only where the setting strict is on.")


def test_a_program_counts_if_it_is_on_an_absolute_path_and_can_be_run(tmp_path: Path, monkeypatch: Any) -> None:
    weld = [plugin("acme-forge", "acme.forge", Plain("Weld", requires_binaries=("welder",)))]
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "welder"
    program.touch(0o644)
    not_runnable = assemble(weld, settings(), env={"PATH": str(tmp_path)}).names
    program.chmod(0o755)

    assert not_runnable == []
    assert assemble(weld, settings(), env={"PATH": ".:"}).names == []
    assert assemble(weld, settings(), env={}).names == []
    assert assemble(weld, settings(), env={"PATH": f":{tmp_path}"}).names == ["Weld"]


def row(plugins: list[dict[str, Any]], which: dict[str, Any], **layers: dict[str, Any]) -> dict[str, Any]:
    """The row of one plugin in the listing."""
    made = settings(**layers)
    rows = plugin_rows(plugins, assemble(plugins, made, env={"PATH": ""}), made)
    return next(row for row in rows if row["id"] == which["id"])


def test_a_plugin_is_quarantined_only_when_all_of_its_tools_lack_something() -> None:
    weld = Plain("Weld", requires_binaries=("welder",))
    all_of_it = plugin("acme-forge", "acme.forge", weld)
    half = plugin("acme-half", "acme.half", weld, Plain("Rest"))

    gone, partly = row([all_of_it], all_of_it), row([half], half)
    assert (gone["state"], gone["kind"]) == ("quarantined", "missing-binary")
    assert (partly["state"], partly["kind"]) == ("active", "")
    assert partly["reason"] == gone["reason"] != ""


@pytest.mark.parametrize(
    ("values", "state", "kind"),
    [
        ({}, "active", ""),
        ({"disable": ["acme"]}, "disabled", "features"),
        ({"disable": ["Hello"]}, "disabled", "features"),
        ({"excludedTools": ["Hello"]}, "active", ""),
        ({"permissions.deny": ["Hello"]}, "active", ""),
    ],
)
def test_switches_disable_a_plugin_and_filters_do_not(values: dict[str, Any], state: str, kind: str) -> None:
    made = row([HELLO], HELLO, user=values)

    assert (made["state"], made["kind"]) == (state, kind)


def test_one_lost_name_puts_a_plugin_in_conflict() -> None:
    greedy = plugin("acme-greedy", "acme.greedy", "Read", "Fine")
    made = row([READ, greedy], greedy)

    assert (made["state"], made["kind"], made["tools"]) == ("conflict", "name-taken", ["Read", "Fine"])
    assert "pegboard-read and acme-greedy both own the tool 'Read'." in made["reason"]


def test_two_plugins_of_one_distribution_are_judged_apart() -> None:
    loser, fine = plugin("acme-two", "acme.loser", "Read"), plugin("acme-two", "acme.fine", "Fine")

    assert row([READ, loser, fine], fine)["state"] == "active"
    assert row([READ, loser, fine], loser)["state"] == "conflict"


def test_a_row_carries_what_the_scan_found() -> None:
    scan = {**refused("import-error", "It fell over.", "Traceback …"), "printed": "hello\n", "ms": 1.5}
    broken = {**HELLO, "scan": scan}
    made = row([broken], broken)

    assert made == {
        "id": "acme-hello:acme.hello",
        "distribution": "acme-hello",
        "version": "1.0",
        "entry": "acme.hello",
        "family": "acme",
        "state": "quarantined",
        "kind": "import-error",
        "reason": "It fell over.",
        "traceback": "Traceback …",
        "hooks": [],
        "tools": [],
        "printed": "hello\n",
        "ms": 1.5,
    }


def test_a_clone_cannot_show_what_the_user_hides() -> None:
    clone = {"availableTools": ["Read", "Hello"]}

    hidden = assemble([READ, HELLO], settings(user={"excludedTools": ["Hello"]}, project=clone))
    chosen = assemble([READ, HELLO], settings(user={"availableTools": ["Read"]}, project=clone))
    narrowed = assemble([READ, HELLO], settings(user=clone, project={"availableTools": ["Hello"]}))

    assert (hidden.names, chosen.names, narrowed.names) == (["Read"], ["Read"], ["Hello"])


def test_what_a_stronger_layer_hides_stays_hidden() -> None:
    made = settings(managed={"excludedTools": ["Hello"]}, cli={"availableTools": ["Read", "Hello"]})

    assert assemble([READ, HELLO], made).names == ["Read"]


def test_a_stranger_on_the_entry_of_a_built_in_does_not_take_away_the_reason() -> None:
    emptied = plugin("pegboard-bash", "shell.bash", "Other")
    pool = assemble([plugin("acme-write", "files.write", "Scribble"), emptied], settings())

    assert absent(pool, "Write") == ("not-installed", "pegboard-write is not installed.")
    assert absent(pool, "Bash") == ("not-installed", "pegboard-bash in this version has no such tool.")
