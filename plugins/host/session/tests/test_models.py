"""The table of models: who may say what, which name a row is for, and what is wrong with a row."""

from decimal import Decimal

import pytest

from pegboard import Board, DefinitionError, SettingsError, hookimpl
from pegboard.settings import Layer, Settings
from pegboard_session import ModelTable, ReplayProvider, Session
from pegboard_session.model_rows import fault_of
from pegboard_session.model_table import rows_of
from pegboard_session.prices import Price

PRICE = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}


def table(*rows):
    return ModelTable(rows)


def test_an_unknown_model_has_no_limits_and_supports_whatever_it_is_asked_for():
    profile = table().profile("nobody-knows-me")
    assert (profile.model, profile.window, profile.max_output, profile.price) == ("nobody-knows-me", None, None, None)
    assert profile.supports("effort")


def test_rows_add_up_field_by_field_and_the_longest_name_wins():
    profile = table(
        {
            "a-big-1": {"maxOutput": 5},
            "a-*": {"window": 10, "maxOutput": 1, "supports": {"effort": False, "images": False}},
            "a-big-*": {"window": 20, "supports": {"images": True}},
        }
    ).profile("a-big-1")
    assert (profile.window, profile.max_output) == (20, 5)
    assert (profile.supports("effort"), profile.supports("images")) == (False, True)


def test_a_stronger_table_wins_even_with_a_shorter_name():
    assert table({"a-big-1": {"window": 10}}, {"a-*": {"window": 30}}).profile("a-big-1").window == 30


def test_an_alias_means_its_model_and_settings_may_move_it():
    models = table({"claude-5": {"aliases": ["opus"], "window": 7}}, {"mine": {"aliases": ["opus"]}})
    assert models.resolve("opus") == "mine"
    assert models.resolve("claude-5") == "claude-5"
    assert table({"claude-5": {"aliases": ["opus"], "window": 7}}).profile("opus").window == 7


def test_tools_are_hidden_shown_again_swapped_and_reworded():
    weak = {"m*": {"tools": {"hide": ["A", "B"], "swap": {"Edit": "Patch", "Write": "Patch"}, "reword": {"C": "c"}}}}
    strong = {"m1": {"tools": {"show": ["B", "Write"], "reword": {"C": "other"}}}}
    profile = table(weak, strong).profile("m1")
    assert profile.hidden_tools == {"A"}
    assert profile.swapped_tools == {"Edit": "Patch"}
    assert profile.reworded_tools == {"C": "other"}


def test_a_replacement_is_hidden_from_models_that_do_not_ask_for_it():
    rows = {"m*": {"tools": {"swap": {"Edit": "Patch"}}}, "n": {"tools": {"show": ["Patch"]}}}
    assert table(rows).profile("other").hidden_tools == {"Patch"}
    assert table(rows).profile("n").hidden_tools == frozenset()


def test_long_prompts_may_cost_more():
    price = Price.of({**PRICE, "longPrompt": {"above": 100, **PRICE, "input": 10}})
    assert price.cost({"input_tokens": 100}) == Decimal(100) / 1_000_000
    assert price.cost({"input_tokens": 1, "cache_read_input_tokens": 100}) == (10 + Decimal("0.1") * 100) / 1_000_000


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([], "expected an object, got []."),
        ({"windw": 1}, "there is no field 'windw'. Did you mean 'window'?"),
        ({"window": 0}, "window must be a whole number of 1 or more, got 0."),
        ({"maxOutput": True}, "maxOutput must be a whole number of 1 or more, got true."),
        ({"supports": {"efort": True}}, "supports: there is no feature 'efort'. Did you mean 'effort'?"),
        ({"supports": {"effort": "yes"}}, 'supports.effort must be true or false, got "yes".'),
        ({"supports": ["effort"]}, "supports must be an object with true or false for each feature"),
        ({"price": {"input": 1}}, "price must have input, output, cacheRead and cacheWrite, each per million tokens"),
        ({"price": {**PRICE, "input": -1}}, "price.input must be a number of 0 or more, got -1."),
        ({"price": {**PRICE, "longPrompt": {"above": 1}}}, "price.longPrompt must have above, a number of tokens, and"),
        ({"aliases": "opus"}, 'aliases must be a list of names, got "opus".'),
        ({"bindsThinking": 1}, "bindsThinking must be true or false, got 1."),
        ({"tools": {"remove": []}}, "tools: there is no field 'remove'. The fields are hide, show, swap and reword."),
        ({"tools": {"swap": ["Edit"]}}, "tools.swap must be an object with text for each tool"),
    ],
)
def test_a_faulty_row_is_named(row, words):
    assert words in fault_of(row, "m")


def test_an_alias_must_mean_one_model():
    assert fault_of({"aliases": ["opus"]}, "claude-*") == (
        "an alias must mean one model, so its name may not contain *."
    )


def test_a_faulty_row_of_settings_names_its_file():
    settings = Settings([Layer("user", "/home/me/settings.json", {"models": {"m": {"window": "big"}}})])
    with pytest.raises(SettingsError, match=r'/home/me/settings.json: models: m: window must .* got "big"'):
        rows_of(settings)


def test_prices_of_the_older_setting_count_and_models_beats_them():
    layers = {"prices": {"m": PRICE, "n": PRICE}, "models": {"n": {"price": {**PRICE, "input": 5}}}}
    models = ModelTable(rows_of(Settings([Layer("user", "f", layers)])))
    assert [models.profile(name).price.by_kind["input_tokens"] for name in "mn"] == [1, 5]


def test_each_layer_changes_only_the_fields_that_it_names():
    layers = [
        Layer("user", "u", {"models": {"m": {"window": 1, "maxOutput": 2}}}),
        Layer("cli", "c", {"models": {"m": {"window": 3}}}),
    ]
    profile = ModelTable(rows_of(Settings(layers))).profile("m")
    assert (profile.window, profile.max_output) == (3, 2)


def test_a_session_knows_its_model_by_an_alias_of_its_provider(board):
    class Known(ReplayProvider):
        models = {"big-1": {"aliases": ["big"], "window": 1000}}

    session = Session(board, Known([]), model="big")
    assert session.model == "big-1"
    assert session.profile.window == 1000


def test_a_provider_with_a_faulty_table_is_refused(board):
    class Faulty(ReplayProvider):
        models = {"big-1": {"window": -1}}

    with pytest.raises(DefinitionError, match="The provider replay: the model big-1: window must be"):
        Session(board, Faulty([]), model="big")


def test_plugins_know_models_too(tmp_path):
    class Knowing:
        @hookimpl
        def register_models(self):
            return {"m*": {"window": 5, "options": {"effort": "low"}}, "n": {"window": "many"}}

    made = Board(Settings(cwd=str(tmp_path)), [], plugins=[Knowing()], env={"HOME": str(tmp_path)})
    session = Session(made, ReplayProvider([]), model="m1")
    assert (session.profile.window, session.asking.options.effort) == (5, "low")
