"""Policies that a stranger writes: opinions with their source, modes, rules to keep, files to withhold, a log."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from pegboard import Allow, Ask, Before, Board, Call, Context, Deny, Input, Mode, SettingsError, hookimpl, tool
from pegboard.hosting import CallRun, consider
from pegboard.settings import Layer, Notice, Settings


class FileInput(Input):
    file_path: Path


class TextInput(Input):
    text: str = ""


@tool(read_only=True, open_world=False)
async def Look(args: TextInput, ctx: Context) -> str:
    """Look."""
    return "looked"


@tool(open_world=False, rule_subject="name", rule_parameter="text")
async def Change(args: TextInput, ctx: Context) -> str:
    """Change."""
    return "changed"


class Opinion:
    def __init__(self, answer):
        self.answer, self.facts = answer, None

    @hookimpl
    def check_permission(self, tool, args, facts, ctx):
        self.facts = facts
        return self.answer


class Sunday:
    @hookimpl
    def before_call(self):
        return Before(decision=Deny("Not on Sundays."))


class Events:
    def __init__(self):
        self.seen = []

    @hookimpl
    def observe(self, event):
        self.seen.append(event)


def board(*plugins, settings=None, **more):
    return Board(settings or Settings(), [], plugins=plugins, tools=[Look, Change], env={}, **more)


def dispatch(made, name="Look", mode="default", **given):
    return anyio.run(made.dispatch, Call("1", name, given), made.context(mode=mode))


def test_a_denial_by_code_names_the_plugin_and_the_hook():
    events = Events()
    result = dispatch(board(Opinion(Deny("No.")), events))
    assert (result.decision.layer, result.decision.source) == ("plugins", "check_permission of application:0")
    [decided] = [event for event in events.seen if event.kind == "decided"]
    assert (decided.data["layer"], decided.data["source"]) == ("plugins", "check_permission of application:0")
    result = dispatch(board(Sunday()))
    assert result.decision.source == "before_call of application:0"


def test_who_explains_a_decision_learns_the_facts_and_every_opinion_with_its_source():
    made = board(Opinion([Ask("Hm."), Deny("No.")]), Sunday())
    run = CallRun(Call("1", "Look", {}), made.context(), made.find("Look"))
    facts, opinions = anyio.run(consider, run, made.hooks)
    assert facts.level == "read-only"
    assert [(opinion.word, opinion.source) for opinion in opinions] == [
        ("deny", "before_call of application:1"),
        ("ask", "check_permission of application:0"),
        ("deny", "check_permission of application:0"),
    ]


def test_a_decision_that_names_a_file_keeps_it():
    result = dispatch(board(Opinion(Deny("No.", "acme", source="/etc/acme.toml", line=3))))
    assert (result.decision.layer, result.decision.source, result.decision.line) == ("acme", "/etc/acme.toml", 3)


def test_a_policy_may_answer_with_several_decisions_and_the_strictest_counts():
    for said in ([Allow("a"), Ask("q")], (Ask("q"), Allow("a"))):
        assert dispatch(board(Opinion(said)), "Change").decision.word == "deny"
    assert dispatch(board(Opinion([Allow("a")])), "Change").text == "changed"
    assert dispatch(board(Opinion([])), "Look").text == "looked"


def test_an_answer_that_is_no_decision_denies():
    result = dispatch(board(Opinion(["yes"])))
    assert "check_permission of application:0 failed: TypeError." in result.text


def test_a_policy_gets_the_facts_with_resolved_paths(tmp_path):
    @tool(read_only=True, open_world=False)
    async def See(args: FileInput, ctx: Context) -> str:
        """See."""
        return "seen"

    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to("real")
    opinion = Opinion(None)
    made = Board(Settings(cwd=str(tmp_path)), [], plugins=[opinion], tools=[See], env={})
    assert anyio.run(made.dispatch, Call("1", "See", {"file_path": "link"})).text == "seen"
    [path] = opinion.facts.paths
    assert (path.spellings, path.read, path.change) == ((f"{tmp_path}/link", f"{tmp_path}/real"), True, False)


class Night:
    @hookimpl
    def register_modes(self):
        loose = lambda tool, facts, ctx: Allow("All is well.", layer="mode")  # noqa: E731
        return [Mode("night", loose, width=2), Mode("plan", loose), Mode("off", loose, switch="safeMode")]


def test_a_plugin_brings_a_mode_but_replaces_none_of_the_core():
    made = board(Night())
    assert list(made.hooks.modes) == ["default", "plan", "dontAsk", "night", "off"]
    assert dispatch(made, "Change", "night").text == "changed"
    assert dispatch(made, "Change", "plan").decision.word == "deny"
    assert dispatch(board(), "Change", "night").decision.word == "deny"


class Keeper:
    def __init__(self, fails=False):
        self.kept, self.fails = [], fails

    @hookimpl
    def suggest_rules(self, tool, decision):
        return [f"{tool.name}(*)"] if decision.layer == "default" else None

    @hookimpl
    def keep_rules(self, rules, ctx):
        if self.fails:
            raise SettingsError("The disk is full.", source="rules.txt")
        self.kept += rules
        return "rules.txt"


class Person:
    @hookimpl
    def ask_user(self, question):
        self.rules, self.where = question.rules, question.keep_rules() if question.rules else None
        return Allow("yes", layer="ask")


def test_a_question_carries_suggested_rules_and_keeps_them():
    keeper, person = Keeper(), Person()
    assert dispatch(board(keeper, person), "Change").text == "changed"
    assert (person.rules, person.where, keeper.kept) == (("Change(*)",), "rules.txt", ["Change(*)"])
    dispatch(board(person), "Change")
    assert (person.rules, person.where) == ((), None)


class Withholding:
    def __init__(self, word):
        self.word = word

    @hookimpl
    def filter_paths(self, tool, root, ctx):
        return (lambda path: self.word not in path) if self.word else None


def test_a_search_shows_only_what_every_filter_lets_through():
    ctx = board(Withholding("secret"), Withholding("key"), Withholding("")).context()
    may_show = ctx.path_filter(Look, "/srv")
    assert [may_show(path) for path in ("/srv/a", "/srv/secret", "/srv/key")] == [True, False, False]
    assert board(Withholding("")).context().path_filter(Look, "/srv") is None


def test_filters_hold_in_a_context_that_no_board_has_made(tmp_path):
    seen = []

    @tool(read_only=True, open_world=False)
    async def Search(args: TextInput, ctx: Context) -> str:
        """Search."""
        seen.append(ctx.path_filter(Search, "/srv"))
        return ""

    made = Board(Settings(), [], plugins=[Withholding("secret")], tools=[Search], env={})
    anyio.run(made.dispatch, Call("1", "Search", {}), Context(tmp_path))
    assert not seen[0]("/srv/secret")


class Log:
    def __init__(self):
        self.recorder = None

    @hookimpl
    def record_decisions(self, settings, env):
        self.recorder = Events()
        return self.recorder


def test_decisions_are_recorded_where_the_host_wants_it():
    log, quiet = Log(), Log()
    dispatch(board(log, record=True))
    assert [event.kind for event in log.recorder.seen] == ["call_started", "decided", "call_finished"]
    dispatch(board(quiet))
    assert quiet.recorder is None


class Linter:
    @hookimpl
    def check_tools(self, settings, tools):
        self.tools = tools
        return [Notice("acme", "There is no tool Deploy.")] if "Deploy" not in tools else []


def test_settings_that_speak_of_tools_are_checked_against_what_they_declare():
    linter = Linter()
    made = board(linter, settings=Settings([Layer("user", "x", {"disable": ["Look"]})]))
    assert [str(notice) for notice in made.pool.notices] == ["acme: There is no tool Deploy."]
    change = linter.tools["Change"]
    assert (change.rule_subject, change.rule_parameter, change.capability, change.known) == ("name", "text", "", True)


@pytest.mark.parametrize("mode", ["acceptEdits", "auto", "bypassPermissions", "yolo"])
def test_a_mode_that_nobody_brings_is_the_default_with_a_notice(mode):
    made = board()
    name, notice = made.hooks.modes.starting(Settings(), mode)
    assert name == "default"
    assert str(notice) == (
        f"command line: The mode {mode} is not used: no installed plugin provides it. "
        "The modes here are default, plan and dontAsk."
    )
    assert dispatch(made, "Change", mode).decision.word == "deny"
