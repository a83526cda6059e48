"""How opinions combine, what is named as the reason, and the trace that explains it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from pegboard import Allow, Ask, Decision, Deny, Facts
from pegboard.calls import strictest

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import TOOLS, Bash, CommandInput, FileInput, World, judge, judge_with_trace


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return World(tmp_path)


def test_the_strictest_opinion_wins_in_every_order(world: World) -> None:
    said: list[Decision] = [Allow("a", layer="one"), Ask("b", layer="two"), Deny("c", layer="three")]
    ctx = world.context(world.settings())
    for order in itertools.permutations(said):
        assert judge(Bash, Facts(), ctx, list(order)) == Deny("c", layer="three")
    for order in itertools.permutations(said[:2]):
        assert judge(Bash, Facts(), ctx, list(order)) == Ask("b", layer="two")
    assert judge(Bash, Facts(), ctx, [said[0]]) == Allow("a", layer="one")


def test_an_allow_of_a_hook_does_not_lift_an_ask_rule(world: World) -> None:
    settings = world.settings(user={"ask": ["Bash"]})
    assert isinstance(judge(Bash, Facts(), world.context(settings), [Allow("yes")]), Ask)


def test_a_deny_of_a_plugin_beats_an_ask_of_the_rules(world: World) -> None:
    settings = world.settings(user={"ask": ["Bash"], "allow": ["Bash"]})
    assert judge(Bash, Facts(), world.context(settings), [Deny("no", layer="p")]).layer == "p"


def test_nobody_is_asked_in_dont_ask_and_the_reason_stays(world: World) -> None:
    settings = world.settings(user={"ask": ["Bash(git push *)"]})
    decision = world.command("git push x", settings=settings, mode="dontAsk")
    assert isinstance(decision, Deny)
    assert decision.reason.endswith("in ~/.pegboard/settings.json. The mode dontAsk does not ask for approval.")
    assert (decision.rule, decision.line, decision.matched) == ("Bash(git push *)", 4, "git push x")


REASONS = [
    (Facts(read_only=True, open_world=False), "allow", "It only reads."),
    (Facts(read_only=True), "ask", "Bash reaches outside this machine."),
    (Facts(destructive=True), "ask", "Bash can destroy something."),
    (Facts(), "ask", "Bash can change something."),
    (Facts(reason="It restarts the server."), "ask", "It restarts the server."),
]


@pytest.mark.parametrize(("facts", "word", "reason"), REASONS)
def test_without_any_opinion_the_facts_decide(world: World, facts: Facts, word: str, reason: str) -> None:
    decision = judge(Bash, facts, world.context(world.settings()), [])
    assert (decision.word, decision.reason) == (word, reason)


def test_the_trace_holds_every_layer_in_its_order(world: World) -> None:
    settings = world.settings(user={"deny": ["Bash(rm *)"], "ask": ["Bash(rm -r *)"], "allow": ["Bash"]})
    ctx = world.context(settings, mode="bypassPermissions")
    args = CommandInput(command="rm -r x")
    decision, steps = judge_with_trace(Bash, Facts(), ctx, [Allow("yes", layer="hooks"), Ask("hm")], args)
    assert isinstance(decision, Deny)
    said = [(step.layer, step.decision.word if step.decision else None) for step in steps]
    assert said == [
        ("deny-rules", "deny"),
        ("safety", None),
        ("ask-rules", "ask"),
        ("hooks", "allow"),
        ("plugins", "ask"),
        ("allow-rules", "allow"),
        ("mode", "allow"),
        ("facts", "ask"),
    ]


def test_the_decision_with_a_trace_is_the_decision_without(world: World) -> None:
    settings = world.settings(
        user={"deny": ["Read(*.key)"], "ask": ["Edit(a*)"], "allow": ["Edit(src/**)", "Read(//etc/hosts)"]}
    )
    for mode in ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"):
        for name, path in itertools.product(("Read", "Write"), ("x.key", "a1", "src/b", "/etc/hosts", ".git/x", "c")):
            ctx = world.context(settings, mode=mode)
            args = FileInput(file_path=Path(path))
            facts = TOOLS[name].facts(args, ctx)
            assert isinstance(facts, Facts)
            decision, steps = judge_with_trace(TOOLS[name], facts, ctx, [], args)
            assert decision == judge(TOOLS[name], facts, ctx, [], args)
            opinions = [step.decision for step in steps if step.decision and step.layer != "facts"]
            if opinions:
                assert decision == strictest(opinions), (mode, name, path)
            else:
                assert decision == steps[-1].decision
