"""The switches, without an environment: precedence, guards, partial choices, misspelt words."""

from __future__ import annotations

import pytest

from pegboard.plugins.features import Features

from .plugin_records import GLOB, HELLO, READ, plugin, settings

SANDBOX = plugin("pegboard-sandbox", "policy.sandbox")
UNSEEN = {**HELLO, "scan": None}


@pytest.mark.parametrize(
    ("word", "off"),
    [
        ("files", True),
        ("files.read", True),
        ("pegboard-read", True),
        ("PEGBOARD_read", True),
        ("Read", False),
        ("search", False),
        ("file", False),
        ("files.", False),
    ],
)
def test_a_plugin_is_off_by_family_entry_or_distribution_and_by_nothing_else(word: str, off: bool) -> None:
    assert (Features(settings(user={"disable": [word]})).off(READ) is not None) == off


def test_a_tool_is_off_by_its_own_name_or_a_former_one() -> None:
    agent = plugin("pegboard-agent", "agents.agent", "Agent")

    assert Features(settings(env={"disable": ["Agent"]})).tool_off("Agent", agent) == "Agent is disabled by env.json."
    assert Features(settings(env={"disable": ["Task"]})).tool_off("Agent", agent) == "Agent is disabled by env.json."
    assert Features(settings(env={"only": ["Task"]})).tool_off("Agent", agent) is None


def test_every_layer_has_to_choose_a_plugin() -> None:
    features = Features(settings(baked={"only": ["files", "search"]}, user={"only": ["files", "acme"]}))

    assert features.off(READ) is None
    assert features.off(GLOB) == "The family search is not among those chosen by user.json: files, acme."
    assert features.off(HELLO) == "The family acme is not among those chosen by baked.json: files, search."


def test_choosing_one_tool_of_a_plugin_leaves_its_sibling_out() -> None:
    tasks = plugin("pegboard-tasks", "tasks.background", "TaskOutput", "TaskStop")
    features = Features(settings(cli={"only": ["TaskStop"]}))

    assert features.off(tasks) is None
    assert features.tool_off("TaskStop", tasks) is None
    assert features.tool_off("TaskOutput", tasks) == "TaskOutput is not among those chosen by cli.json: TaskStop."


def test_choosing_a_strangers_tool_looks_into_plugins_that_may_bring_it() -> None:
    features = Features(settings(cli={"only": ["Hello"]}))

    assert features.off(UNSEEN) is None
    assert features.off(HELLO) is None
    assert features.off(plugin("acme-bye", "acme.bye", "Bye")) is not None


@pytest.mark.parametrize("word", ["acme", "other", "acme-other", "acme.other", "Read"])
def test_choosing_by_anything_else_looks_into_nothing_that_was_not_chosen(word: str) -> None:
    unseen = {**plugin("stranger", "strange.thing"), "scan": None}

    assert Features(settings(cli={"only": [word]})).off(unseen) is not None


def test_a_guard_is_out_of_reach_of_families_safe_mode_and_choices() -> None:
    for layer in ({"disable": ["policy"]}, {"safeMode": True}, {"only": ["files"]}):
        assert Features(settings(cli=layer)).off(SANDBOX) is None


def test_a_guard_goes_by_its_full_name() -> None:
    assert Features(settings(user={"disable": ["policy.sandbox"]})).off(SANDBOX) is not None


def test_a_guard_that_a_stronger_layer_configures_stays_on_and_the_attempt_is_reported() -> None:
    made = settings(managed={"sandbox.enabled": True}, user={"disable": ["policy.sandbox"]})
    features = Features(made)

    assert features.off(SANDBOX) is None
    (refusal,) = features.refusals([SANDBOX])
    assert str(refusal) == "user.json: policy.sandbox stays on: a stronger layer of settings configures it."


def test_switching_off_all_guards_at_once_is_refused_aloud() -> None:
    (refusal,) = Features(settings(user={"disable": ["policy"]})).refusals([SANDBOX])

    assert str(refusal) == "user.json: The family policy cannot be switched off as a whole. Name its plugins."


def test_words_that_name_nothing_are_reported_once_for_each_place() -> None:
    made = settings(env={"disable": ["serach", "Glob", "policy.sandbox", "Task"]}, user={"only": ["serach", "Hello"]})
    said = [str(notice) for notice in Features(made).unknown([READ, HELLO], [])]

    words = "'serach' names no family, plugin, distribution or tool. Did you mean 'search'?"
    assert said == [f"env.json: {words}", f"user.json: {words}"]
