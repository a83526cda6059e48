"""Tools of a stranger: what they declare is what rules mean."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import pegboard_rules
from pegboard import Allow, Ask, Board, Call, Context, Deny, Facts, Input, Tool, hookimpl, tool
from pegboard.settings import Layer, Settings
from pegboard_rules.audit import Audit, AuditLog
from pegboard_rules.opinions import decide_by_rules
from pegboard_rules.search_filter import path_filter

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import World


class ScriptInput(Input):
    title: str = ""
    script: str = ""
    target: Path | None = None
    address: str = ""


def made(name: str, **options: Any) -> Tool[ScriptInput, str]:
    @tool(name=name, **options)
    def act(args: ScriptInput, ctx: Context) -> str:
        """Act."""
        return "done"

    return act


Script = made("AcmeScript", rule_subject="command", rule_parameter="script", aliases=("OldScript",))
Put = made("AcmePut", open_world=False, rule_subject="path", rule_parameter="target", capability="edit")
Own = made("AcmeOwn", open_world=False, rule_subject="path", rule_parameter="target")
Fetch = made("AcmeFetch", read_only=True, rule_subject="host", rule_parameter="address")
Kind = made("AcmeKind", rule_subject="name", rule_parameter="title")
Only = made("AcmeOnly", rule_subject="parameter")


def settings(**rules: list[str]) -> Settings:
    return Settings([Layer("user", "x", {f"permissions.{kind}": said for kind, said in rules.items()})], cwd="/srv/p")


def decide(which: Tool[ScriptInput, str], rules: Settings, facts: Facts | None = None, **given: Any) -> str:
    ctx, args = Context(Path("/srv/p"), rules), ScriptInput(**given)
    found = facts or which.facts(args, ctx)
    assert isinstance(found, Facts)
    return decide_by_rules(which, found, ctx, args).word


def test_a_command_is_compared_with_the_declared_parameter() -> None:
    rules = settings(deny=["AcmeScript(rm *)"], allow=["AcmeScript(ls:*)"])
    assert decide(Script, rules, title="ls", script="rm x") == "deny"
    assert decide(Script, rules, title="rm x", script="ls -l") == "allow"
    assert decide(Script, rules, script="ls; true") == "ask", "nobody took it apart"
    assert decide(Script, settings(deny=["AcmeScript(domain:x)"]), script="domain:x") == "deny"


def test_a_rule_for_a_former_name_holds() -> None:
    assert decide(Script, settings(deny=["OldScript(rm *)"]), script="rm x") == "deny"


def test_a_tool_that_edits_is_governed_by_edit_rules_and_only_restricted_by_its_own() -> None:
    writing = Facts(open_world=False, writes=(Path("/srv/p/a"),))
    assert decide(Put, settings(deny=["Edit(a)"]), writing) == "deny"
    assert decide(Put, settings(allow=["Edit(a)"]), writing) == "allow"
    assert decide(Put, settings(deny=["AcmePut(a)"]), writing) == "deny"
    assert decide(Put, settings(deny=["AcmePut(b)"], allow=["Edit(a)"]), writing) == "allow"
    assert decide(Put, settings(ask=["AcmePut(a)"], allow=["Edit(a)"]), writing) == "ask"
    assert decide(Put, settings(allow=["AcmePut(a)"]), writing) == "ask", "to allow, name the capability"
    assert decide(Own, settings(deny=["AcmeOwn(a)"]), writing) == "deny"
    assert decide(Own, settings(allow=["AcmeOwn(a)"]), writing) == "allow"


def test_a_host_is_read_from_the_declared_parameter() -> None:
    rules = settings(deny=["AcmeFetch(domain:evil.test)"], allow=["AcmeFetch(domain:good.test)"])
    assert decide(Fetch, rules, address="https://evil.test/x") == "deny"
    assert decide(Fetch, rules, address="https://good.test/x") == "allow"
    assert decide(Fetch, rules, title="https://good.test/x") == "ask"


def test_a_host_that_is_denied_to_one_tool_is_denied_to_all_but_allowed_to_that_one_only() -> None:
    reaching = Facts(hosts=("evil.test",))
    assert decide(Script, settings(deny=["AcmeFetch(domain:evil.test)"]), reaching, script="x") == "deny"
    assert decide(Script, settings(deny=["NotInstalled(domain:evil.test)"]), reaching, script="x") == "deny"
    assert decide(Script, settings(allow=["AcmeFetch(domain:evil.test)"]), reaching, script="x") == "ask"
    assert decide(Script, settings(deny=["mcp__a__b(domain:evil.test)"]), reaching, script="x") == "ask"


def test_a_name_and_a_parameter() -> None:
    assert decide(Kind, settings(deny=["AcmeKind(re*)"]), title="reviewer") == "deny"
    assert decide(Kind, settings(allow=["AcmeKind(reviewer)"]), title="reviewer") == "allow"
    assert decide(Only, settings(deny=["AcmeOnly(title:x)"]), title="x") == "deny"
    assert decide(Only, settings(deny=["AcmeOnly(x)"]), title="x") == "ask"


@pytest.mark.parametrize("rule", ["Absent", "Absent(rm *)", "Absent(./**)", "Absent(a:b)"])
def test_a_deny_rule_for_a_tool_that_is_not_installed_is_harmless(rule: str) -> None:
    assert decide(Script, settings(deny=[rule], allow=["AcmeScript"]), script="rm x") == "allow"


def test_what_restricts_paths_still_holds_where_work_has_moved_from(tmp_path: Path) -> None:
    world = World(tmp_path)
    before = world.settings(
        project={"deny": ["Read(./secrets/**)", "Edit(/locked)", "AcmeOwn(a)"], "ask": ["Read(b)"], "allow": ["Edit"]}
    )
    other = tmp_path / "checkout"
    other.mkdir()
    moved = before.moved_to(str(other))
    ctx = Context(other, moved, roots=(world.project,))

    def on(which: Tool[Any, Any], path: Path, *, write: bool = False) -> str:
        facts = Facts(not write, True, False, reads=(path,), writes=(path,) if write else ())
        return decide_by_rules(which, facts, ctx, ScriptInput(target=path)).word

    assert on(Own, world.project / "secrets/k") == on(Own, other / "secrets/k") == "deny"
    assert on(Own, world.project / "locked", write=True) == on(Own, other / "locked", write=True) == "deny"
    assert on(Own, world.project / "a") == on(Own, other / "a") == "deny"
    assert on(Own, world.project / "deep/b") == "ask"
    assert on(Own, world.project / "c") == on(Own, other / "c") == "allow"
    may_show = path_filter(Own, str(world.project), ctx)
    assert may_show is not None
    assert not may_show(str(world.project / "secrets/k"))


class Sunday:
    @hookimpl
    def check_permission(self, tool: Tool[Any, Any]) -> Deny:
        return Deny("Not on Sundays.")


def test_the_audit_log_names_the_plugin_and_the_hook_of_a_denial_by_code(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    board = Board(Settings(cwd=str(tmp_path)), [], plugins=[pegboard_rules, Sunday(), Audit(log)], tools=[Kind], env={})
    anyio.run(board.dispatch, Call("1", "AcmeKind", {"title": "x"}))
    line = json.loads((tmp_path / "audit.jsonl").read_text())
    assert (line["decision"], line["by"], line["layer"]) == ("deny", "hook", "plugins")
    assert line["source"] == "check_permission of application:1"


def test_an_allow_of_a_stranger_lifts_no_rule_and_no_safety_check(tmp_path: Path) -> None:
    class Yes:
        @hookimpl
        def check_permission(self) -> Allow:
            return Allow("Fine.", layer="rules")

    rules = Settings([Layer("user", "x", {"permissions.ask": ["AcmeKind"]})], cwd=str(tmp_path))
    board = Board(rules, [], plugins=[pegboard_rules, Yes()], tools=[Kind, Own], env={})
    assert anyio.run(board.dispatch, Call("1", "AcmeKind", {"title": "x"})).decision.layer == "ask"
    result = anyio.run(board.dispatch, Call("1", "AcmeOwn", {"target": str(tmp_path / ".git/config")}))
    assert result.decision.word == "deny"
    assert isinstance(result.decision, Deny)
    assert not isinstance(result.decision, Ask)
    assert "a protected path" in result.decision.reason
