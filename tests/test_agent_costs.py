"""What sub-agents cost: prices from settings or the provider, sums that agree, budgets that end things."""

from decimal import Decimal

import pytest

from pegboard import Context, ProviderError, tool
from pegboard.settings import installed_keys
from pegboard_session import ReplayProvider, Session, Transcript, restore
from pegboard_settings.keys import misfit

from .agents import NameInput, _at_home, agent, make_board, of, play, results_of, text, turn, use, watching

__all__ = ["_at_home", "watching"]

CHEAP = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}
DEAR = {"input": 10, "output": 30, "cacheRead": 1, "cacheWrite": 12.5}
PRICES = {"parent-model": DEAR, "small-*": CHEAP}


def usage(**tokens):
    return {"usage": tokens}


async def test_costs_of_all_kinds_of_tokens_and_models_add_up_to_the_last_digit(tmp_path, watching):
    board = make_board(tmp_path, watching, prices=PRICES)
    odd = usage(input_tokens=3, output_tokens=7, cache_read_input_tokens=1001, cache_creation_input_tokens=13)
    script = [turn(agent(name="one", model="small-1")), turn(text("Done."))]
    script += [of("one", agent(name="two"), **odd), of("one", text("1"), **odd), of("two", text("2"), **odd)]
    _, session = await play(board, *script)
    each = (Decimal(3) + 7 * 2 + 1001 * Decimal("0.1") + 13 * Decimal("1.25")) / 1_000_000
    assert session.usage.cost == 3 * each + 2 * Decimal(7 * 30) / 1_000_000
    two, one = (data["usage"] for data in watching.of("agent_finished"))
    assert two["cost"] == float(each), "it inherits the model of the agent that started it"
    assert one["cost"] == float(3 * each)
    assert "unpriced_requests" not in one
    assert f"cost {float(3 * each):.4f}" in results_of(session)[0]


async def test_without_prices_nothing_is_said_about_costs(tmp_path, watching):
    board = make_board(tmp_path, watching)
    _, session = await play(board, turn(agent(name="one")), turn(text("Done.")), of("one", text("1")))
    assert "cost" not in session.usage.as_data()
    assert "cost" not in results_of(session)[0]


async def test_a_cost_that_is_known_in_part_is_not_shown_as_the_whole(tmp_path, watching):
    board = make_board(tmp_path, watching, prices={"parent-model": DEAR})
    _, session = await play(board, turn(agent(name="one", model="other")), turn(text("Done.")), of("one", text("1")))
    assert session.usage.as_data()["unpriced_requests"] == 1
    assert "cost" not in results_of(session)[0]


async def test_a_cost_budget_counts_the_agents_below_and_returns_what_exists(tmp_path, watching):
    board = make_board(tmp_path, watching, prices=PRICES, agents={"costBudget": 0.00004})
    script = [turn(agent(name="one", model="small-1")), turn(text("Done."))]
    script += [of("one", text("so far"), agent(name="two")), of("one", text("more"), agent(name="three"))]
    script += [of("one", text("never")), of("two", text("2")), of("three", text("3"))]
    _, session = await play(board, *script)  # Each answer costs 14 millionths: the third one is over.
    [said] = results_of(session)
    assert said.startswith("more")
    assert "stopped by cost_budget: the report may be incomplete" in said
    assert [data["name"] for data in watching.of("agent_started")] == ["one", "two"]


async def test_a_report_that_uses_up_the_budget_is_still_whole(tmp_path, watching):
    board = make_board(tmp_path, watching, agents={"tokenBudget": 7})
    _, session = await play(board, turn(agent(name="one")), turn(text("Done.")), of("one", text("all of it")))
    assert results_of(session)[0].startswith("all of it")
    assert "stopped by" not in results_of(session)[0]


async def test_an_agent_without_budget_left_is_not_resumed(tmp_path, watching):
    board = make_board(tmp_path, watching, agents={"tokenBudget": 7})
    resume = use("Agent", description="d", prompt="p", resume="one")
    script = [turn(agent(name="one")), turn(resume), turn(text("Done.")), of("one", text("1")), of("one", text("2"))]
    _, session = await play(board, *script)
    assert "has used up its token budget. Start a new agent for the rest." in results_of(session, 4)[0]


async def test_a_cost_budget_without_a_price_is_a_clear_error(tmp_path, watching):
    board = make_board(tmp_path, watching, prices=PRICES, agents={"costBudget": 1})
    _, session = await play(board, turn(agent(name="one", model="other")), turn(text("Done.")))
    assert results_of(session)[0].startswith(
        "A cost budget is set, but the model 'other' has no price. "
        'Set "prices": {"other": {"input": …, "output": …, "cacheRead": …, "cacheWrite": …}}, '
        "each per million tokens, or remove the budget."
    )
    assert not watching.of("agent_started")


async def test_the_budget_of_the_session_needs_a_price_before_anything_is_asked(tmp_path, watching):
    board = make_board(tmp_path, watching, costBudget=1)
    with pytest.raises(ProviderError, match="the model 'parent-model' has no price"):
        await play(board, turn(text("Done.")))
    assert not watching.of("request_started")


async def test_what_agents_use_ends_the_session_at_its_own_budget(tmp_path, watching):
    board = make_board(tmp_path, watching, tokenBudget=20)
    script = [turn(agent(name="one")), turn(text("never")), of("one", use("Read", file_path="x")), of("one", text("1"))]
    outcome, session = await play(board, *script)
    assert outcome.stopped_by == "token_budget"
    assert session.usage.total_tokens == 21
    assert [data["state"] for data in watching.of("agent_finished")] != ["stopped"], "nobody has stopped it"


async def test_the_budget_of_a_session_holds_when_it_is_resumed(tmp_path, watching):
    path = tmp_path.parent / f"{tmp_path.name}.jsonl"
    for number, stopped_by in enumerate(["end", "token_budget"]):
        board = make_board(tmp_path, watching, tokenBudget=7)
        session = Session(board, ReplayProvider([turn(text("Done."))]), transcript=Transcript(path), session_id="s")
        if number:
            session.resume(restore(path), session.ctx)
        async with session:
            outcome = await session.run("Go")
        assert outcome.stopped_by == stopped_by
    assert len(watching.of("request_started")) == 1


async def test_a_provider_may_know_prices_and_settings_beat_it(tmp_path, watching):
    class Priced(ReplayProvider):
        models = {"m": {"price": DEAR}, "n": {"price": DEAR}}

    board = make_board(tmp_path, watching, prices={"n": CHEAP})
    for model, each in (("m", 30), ("n", 2)):
        async with Session(board, Priced([turn(text("Done."))]), model=model) as session:
            await session.run("Go")
        assert session.usage.cost == Decimal(7 * each) / 1_000_000


async def test_small_questions_of_tools_are_on_the_account_of_the_agent_that_asks(tmp_path, watching):
    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Ask(args: NameInput, ctx: Context) -> str:
        """Ask a model."""
        return await ctx.model.complete("How many?")

    board = make_board(tmp_path, watching, [Ask], prices={"parent-model": CHEAP})
    script = [
        turn(agent(name="one")),
        turn(text("Done.")),
        of("one", use("Ask")),
        of("one", text("42")),
        of("one", text("1")),
    ]
    _, session = await play(board, *script)
    [one] = (data["usage"] for data in watching.of("agent_finished"))
    assert (one["requests"], one["output_tokens"], one["cost"]) == (3, 21, 0.000042)
    assert session.usage.requests == 5


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("costBudget", 0, "costBudget must be a number above 0, got 0."),
        ("agents.costBudget", "1", 'agents.costBudget must be a number above 0, got "1".'),
        ("agents.costBudget", True, "agents.costBudget must be a number above 0, got true."),
        ("costBudget", float("inf"), "costBudget must be a number above 0, got Infinity."),
        ("costBudget", float("nan"), "costBudget must be a number above 0, got NaN."),
        ("prices", [], "prices must be an object with input, output, cacheRead, cacheWrite for each name, got []."),
        ("prices", {"m": {}}, "prices: m must have input, output, cacheRead, cacheWrite and nothing else, got {}."),
        ("prices", {"m": {**CHEAP, "output": -1}}, "prices: output of m must be a number of 0 or more, got -1."),
        ("prices", {"m": {**CHEAP, "input": None}}, "prices: input of m must be a number of 0 or more, got null."),
        ("prices", {"m": CHEAP}, None),
        ("costBudget", 0.5, None),
    ],
)  # fmt: skip
def test_prices_and_budgets_that_make_no_sense_are_refused(name, value, fault):
    assert misfit(installed_keys()[name], value) == fault


async def test_a_definition_that_names_sonnet_works_without_a_warning(tmp_path, watching):
    class Known(ReplayProvider):
        models = {"claude-x": {"aliases": ["sonnet"]}}

    board = make_board(tmp_path, watching)
    script = [turn(agent(name="one", model="sonnet")), turn(text("Done.")), of("one", text("Report."))]
    async with Session(board, Known(script), model="parent-model") as session:
        await session.run("Go")
    assert [data["model"] for data in watching.of("agent_started")] == ["claude-x"]
    assert "is not used" not in results_of(session)[0]
