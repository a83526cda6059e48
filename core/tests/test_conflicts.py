"""Who owns a name: the built-in, whom settings prefer, or nobody."""

from __future__ import annotations

from pegboard.pool.assembly import assemble
from pegboard.pool.entries import Pool

from .plugin_records import READ, Plain, plugin, settings

MINE = plugin("acme-files", "acme.files", "Read")
ONE = plugin("acme-one", "acme.one", "Hello")
TWO = plugin("acme-two", "acme.two", "Hello")
THREE = plugin("acme-three", "acme.three", "Hello")


def owner(pool: Pool, name: str) -> str | None:
    """The distribution that owns a name."""
    entry = pool.get(name)
    return entry.dist if entry else None


def test_the_built_in_is_kept_whatever_the_order() -> None:
    for plugins in ([READ, MINE], [MINE, READ]):
        pool = assemble(plugins, settings())
        assert owner(pool, "Read") == "pegboard-read"
        assert pool.get("Read").partition == "built-in"  # type: ignore[union-attr]


def test_prefer_hands_a_built_in_name_over_without_a_notice() -> None:
    pool = assemble([READ, MINE], settings(user={"prefer": {"Read": "ACME.files"}}))

    assert owner(pool, "Read") == "acme-files"
    assert pool.notices == []
    assert [(gone.dist, gone.layer) for gone in pool.absent if gone.name == "Read"] == [("pegboard-read", "conflict")]


def test_a_stronger_layer_decides_whom_to_prefer() -> None:
    made = settings(managed={"prefer": {"Hello": "acme-one"}}, user={"prefer": {"Hello": "acme-two"}})

    assert owner(assemble([ONE, TWO], made), "Hello") == "acme-one"


def test_prefer_for_somebody_who_does_not_claim_the_name_is_reported_and_changes_nothing() -> None:
    pool = assemble([READ, MINE], settings(user={"prefer": {"Read": "acme-gone"}}))

    assert owner(pool, "Read") == "pegboard-read"
    said = [str(notice) for notice in pool.notices]
    assert said[0] == "acme-gone: prefer: acme-gone has no usable tool 'Read'."
    assert "The built-in is kept." in said[1]


def test_of_three_strangers_none_is_used_and_all_are_named() -> None:
    pool = assemble([ONE, THREE, TWO], settings())

    assert pool.names == []
    assert pool.why_absent("Hello").startswith(
        "acme-one and acme-three and acme-two all own the tool 'Hello'. None of them is used."
    )


def test_one_distribution_that_brings_a_name_twice_is_told_so() -> None:
    again = plugin("acme-one", "acme.again", "Hello")
    pool = assemble([ONE, again], settings())

    assert pool.names == []
    reason = "acme-one defines the tool 'Hello' twice. Neither is used. Give one of them another name."
    assert [gone.reason for gone in pool.absent if gone.name == "Hello"] == [reason, reason]


def test_a_former_name_of_a_built_in_is_reserved_too() -> None:
    pool = assemble([plugin("acme-agent", "acme.agent", "Task")], settings())

    assert pool.names == []
    assert pool.why_absent("Task").startswith(
        "The name 'Task' is reserved for pegboard-agent, and acme-agent claims it."
    )


def test_an_alias_goes_to_the_built_in_first_and_to_one_stranger_only() -> None:
    built_in = plugin("pegboard-read", "files.read", Plain("Read", aliases=("View",)))
    one = plugin("acme-one", "acme.one", Plain("One", aliases=("View", "Both")))
    two = plugin("acme-two", "acme.two", Plain("Two", aliases=("Both", "One")))
    pool = assemble([built_in, one, two], settings())

    assert owner(pool, "View") == "pegboard-read"
    assert owner(pool, "Both") == "acme-one"
    assert owner(pool, "One") == "acme-one"
    assert sorted(str(notice) for notice in pool.notices) == [
        "acme-one: The alias 'View' of One is taken, so it is not used.",
        "acme-two: The alias 'Both' of Two is taken, so it is not used.",
        "acme-two: The alias 'One' of Two is taken, so it is not used.",
    ]


def test_settling_aliases_leaves_the_records_of_the_index_alone() -> None:
    one = plugin("acme-one", "acme.one", Plain("One", aliases=("Read", "Mine")))
    assemble([READ, one], settings())

    assert one["scan"]["tools"][0]["aliases"] == ["Read", "Mine"]


def test_prefer_for_a_tool_that_nobody_brings_is_reported_with_the_nearest() -> None:
    pool = assemble([READ], settings(user={"prefer": {"Raed": "acme-files"}}))

    assert [str(notice) for notice in pool.notices] == [
        "user.json: prefer: there is no tool 'Raed'. Did you mean 'Read'?"
    ]
