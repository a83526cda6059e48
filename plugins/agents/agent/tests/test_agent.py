"""The tool itself: its facts, its refusals, the model it chooses, and its plugin."""

import subprocess
import sys

import pytest

from pegboard import Part
from pegboard.settings import Layer, Settings
from pegboard_agent import Agent, AgentInput
from pegboard_agent.models import choose_model

ALIASES = {"agents.modelAliases": {"haiku": "claude-haiku-5"}}
ONLY = {"agents.allowedModels": ["claude-small"]}


@pytest.mark.parametrize(
    ("variable", "call", "definition", "settings", "model", "warning"),
    [
        (None, None, None, {}, None, ""),
        (None, None, "of-file", {}, "of-file", ""),
        (None, "of-call", "of-file", {}, "of-call", ""),
        ("of-env", "of-call", "of-file", {}, "of-env", ""),
        ("inherit", "of-call", "of-file", {}, None, ""),
        (None, "inherit", "of-file", {}, None, ""),
        (None, "haiku", None, ALIASES, "claude-haiku-5", ""),
        (None, "opus", None, ALIASES, None, "no model has this alias"),
        (None, "claude-small", None, ONLY, "claude-small", ""),
        (None, None, "claude-large", ONLY, None, "'claude-large' of the definition is not in agents.allowedModels"),
        ("claude-large", "claude-small", None, ONLY, None, "'claude-large' of PEGBOARD_SUBAGENT_MODEL is not in"),
    ],
)
def test_the_model_comes_from_the_environment_the_call_the_definition_or_the_parent(
    variable, call, definition, settings, model, warning
):
    env = {"PEGBOARD_SUBAGENT_MODEL": variable} if variable else {}
    chosen, warnings = choose_model(call, definition, Settings([Layer("user", "test", settings)]), env)
    assert chosen == model
    assert len(warnings) == bool(warning)
    assert all(warning in words for words in warnings)


def test_an_alias_of_the_table_of_models_is_known_without_a_warning():
    known, settings = {"sonnet": "claude-sonnet-5-5"}, Settings([Layer("user", "test", ALIASES)])
    assert choose_model(None, "sonnet", settings, {}, known) == ("claude-sonnet-5-5", [])
    assert choose_model(None, "haiku", settings, {}, {"haiku": "other"}) == ("claude-haiku-5", [])
    only = Settings([Layer("user", "test", {"agents.allowedModels": ["sonnet"]})])
    assert choose_model("claude-sonnet-5-5", None, only, {}, known) == ("claude-sonnet-5-5", [])


def given(**more):
    return AgentInput(description="d", prompt="p", **more)


def test_an_agent_call_only_reads_unless_it_makes_a_worktree(ctx):
    plain, isolated = Agent().facts(given(), ctx), Agent().facts(given(isolation="worktree"), ctx)
    assert plain.read_only
    assert plain.concurrency_safe
    assert plain.parts == (Part("general-purpose", also=("general",), read_only=True),)
    assert not isolated.read_only
    assert isolated.concurrency_safe
    assert ".pegboard/worktrees" in str(isolated.writes[0])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"prompt": " "}, "prompt is empty"),
        ({"resume": "x", "model": "m", "name": "n"}, "leave out name, model."),
        ({"name": "a\nb"}, "name must be 1 to 64 letters"),
        ({"cwd": "a", "isolation": "worktree"}, "cwd and isolation cannot be combined"),
        ({"max_turns": 0}, "max_turns must be 1 or more"),
        ({"isolation": "remote"}, "isolation=remote is not supported"),
        ({"output_schema": {"type": "nonsense"}}, "output_schema is not a JSON Schema"),
    ],
)
def test_what_cannot_be_done_is_said(call_tool, more, words):
    result = call_tool("Agent", {"description": "d", "prompt": "p", **more})
    assert result.is_error
    assert words in result.text


def test_task_is_another_name(call_tool):
    assert call_tool("Task", description="d", prompt="p").text == "This host does not support sub-agents."


def test_the_plugin_is_imported_without_its_libraries():
    code = "import sys, pegboard_agent; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"yaml", "jsonschema", "anthropic"} & set(loaded)
