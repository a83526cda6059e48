"""What the provider says about its models."""

import pytest

from pegboard_anthropic.models import MODELS
from pegboard_session import ModelTable
from pegboard_session.model_rows import fault_of

TABLE = ModelTable([MODELS])


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_sound(name):
    assert fault_of(MODELS[name], name) == ""


@pytest.mark.parametrize(
    ("name", "model", "window", "most"),
    [
        ("opus", "claude-opus-5-5", 1_000_000, 128_000),
        ("sonnet", "claude-sonnet-5-5", 1_000_000, 128_000),
        ("haiku", "claude-haiku-5-5", 1_000_000, 128_000),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001", 200_000, 64_000),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000, 64_000),
        ("claude-sonnet-4-6@20260217", "claude-sonnet-4-6@20260217", 1_000_000, 128_000),
        ("claude-next", "claude-next", 200_000, 64_000),
    ],
)
def test_short_dated_and_cloud_names_find_their_model(name, model, window, most):
    profile = TABLE.profile(name)
    assert (profile.model, profile.window, profile.max_output) == (model, window, most)


def test_newer_models_do_without_the_todo_tools():
    assert "TodoWrite" in TABLE.profile("opus").hidden_tools
    assert "TodoWrite" in TABLE.profile("claude-opus-4-8").hidden_tools
    assert not TABLE.profile("claude-opus-4-7").hidden_tools


@pytest.mark.parametrize(
    ("model", "feature", "there"),
    [
        ("claude-haiku-4-5", "adaptive_thinking", False),
        ("claude-haiku-4-5", "thinking_budget", True),
        ("claude-opus-4-6", "thinking_budget", True),
        ("claude-opus-4-7", "thinking_budget", False),
        ("claude-opus-5", "thinking_off", True),
        ("claude-opus-5-5", "thinking_off", False),
        ("claude-sonnet-5-5", "thinking_between_tools", True),
        ("claude-opus-5-5", "thinking_between_tools", False),
        ("claude-sonnet-4-5", "effort", False),
    ],
)
def test_it_says_what_a_model_supports(model, feature, there):
    assert TABLE.profile(model).supports(feature) is there
