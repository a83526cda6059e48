"""Which tools are deferred, in which order they are listed once fetched, and what a call to an unfetched one gets."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.pool.assembly import assemble
from pegboard.pool.entries import Pool
from pegboard_session.model_tools import cache_breakpoints

from .plugin_records import GLOB, READ, Plain, plugin, settings

DeferralPolicy = pytest.importorskip("pegboard_session").DeferralPolicy

FETCH = plugin("pegboard-toolsearch", "discovery.toolsearch", Plain("Fetch", fetches_tools=True))
ACME = plugin("acme-many", "acme.many", "Ant", "Bee")


def dynamic(*tools: Any) -> list[Any]:
    source = plugin("server", "mcp.server", *tools)
    return [(record, source) for record in source["scan"]["tools"]]


def a_pool(*more: Any, tools: tuple[Any, ...] = ("mcp__a__x", "mcp__a__y", "mcp__b__z"), **values: Any) -> Pool:
    return assemble([READ, GLOB, *more], settings(user=values), dynamic=dynamic(*tools))


def deferred(pool: Pool, policy: Any) -> list[str]:
    return sorted(policy.deferred(pool))


def test_off_defers_nothing_and_always_all_but_built_in_tools() -> None:
    pool = a_pool(ACME, FETCH)
    assert deferred(pool, DeferralPolicy("off")) == []
    assert deferred(pool, DeferralPolicy("always")) == ["Ant", "Bee", "mcp__a__x", "mcp__a__y", "mcp__b__z"]


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        (8, []),
        (7, ["mcp__a__x", "mcp__a__y", "mcp__b__z"]),
        (5, ["mcp__a__x", "mcp__a__y", "mcp__b__z"]),
        (4, ["Ant", "Bee", "mcp__a__x", "mcp__a__y", "mcp__b__z"]),
    ],
)
def test_above_a_number_of_tools_dynamic_ones_are_deferred_first_then_third_parties(
    limit: int, names: list[str]
) -> None:
    assert deferred(a_pool(ACME, FETCH), DeferralPolicy("auto", tools=limit)) == names


def test_above_a_share_of_the_window_tools_are_deferred() -> None:
    pool = a_pool(FETCH)
    tokens = sum(entry.tokens for entry in pool.entries)
    assert deferred(pool, DeferralPolicy("auto", percent=10, window=tokens * 10)) == []
    assert deferred(pool, DeferralPolicy("auto", percent=10, window=tokens * 10 - 10)) == [
        "mcp__a__x",
        "mcp__a__y",
        "mcp__b__z",
    ]


def test_without_a_tool_that_fetches_nothing_is_deferred() -> None:
    assert deferred(a_pool(ACME), DeferralPolicy("always")) == []


def test_pinned_tools_stay_by_pattern_and_by_their_own_declaration() -> None:
    pool = a_pool(FETCH, tools=(Plain("mcp__a__x", pinned=True), "mcp__a__y", "mcp__b__z", "mcp__c__w"))
    assert deferred(pool, DeferralPolicy("always", pinned=["mcp__b__*", "mcp__c__w"])) == ["mcp__a__y"]


def test_settings_choose_the_policy_and_kinds_of_agents_may_differ() -> None:
    values = {"deferral.mode": "always", "deferral.pinned": ["A*"], "deferral.agents": {"Explore": "off"}}
    chosen, pool = settings(user=values), a_pool(ACME, FETCH, tools=())
    assert deferred(pool, DeferralPolicy.of(chosen)) == ["Bee"]
    assert deferred(pool, DeferralPolicy.of(chosen, "general")) == ["Bee"]
    assert deferred(pool, DeferralPolicy.of(chosen, "Explore")) == []


def test_fetched_tools_come_after_the_last_partition_in_the_order_of_fetching() -> None:
    whole = a_pool(ACME, FETCH)
    pool = whole.deferring({"mcp__a__x", "mcp__a__y", "Ant"})
    start = ["Glob", "Read", "Fetch", "Bee", "mcp__b__z"] if whole.names[2] == "Fetch" else None
    listed = [entry.name for entry in pool.listed(("mcp__a__y", "Ant", "gone", "Ant"))]
    unfetched = [entry.name for entry in pool.listed()]
    assert listed == [*unfetched, "mcp__a__y", "Ant"]
    assert start is None or unfetched == start
    assert pool.request_bytes(("Ant",)).startswith(pool.request_bytes()[:-1] + b",")
    assert cache_breakpoints(pool)[-1] == len(unfetched) - 1


def test_a_later_dynamic_tool_never_changes_which_third_party_tools_are_listed() -> None:
    policy = DeferralPolicy("auto", tools=5)
    few, many = a_pool(ACME, FETCH, tools=()), a_pool(ACME, FETCH, tools=tuple(f"mcp__s__{n}" for n in range(9)))
    before, after = (pool.deferring(policy.deferred(pool)) for pool in (few, many))
    assert before.request_bytes() == after.request_bytes()


def test_deferring_changes_no_other_pool() -> None:
    pool = a_pool(FETCH)
    pool.deferring({"mcp__a__x"})
    assert not any(entry.deferred for entry in pool.entries)


@pytest.mark.parametrize(
    ("name", "server"), [("mcp__github__x", "github"), ("mcp____x", "server"), ("plain", "server"), ("Read", "files")]
)
def test_the_server_of_a_tool(name: str, server: str) -> None:
    entry = a_pool(tools=(name,) if name != "Read" else ()).get(name)
    assert entry is not None
    assert entry.server == server
