"""Spellings that hide a command or a file from deny rules, where all else is allowed."""

from __future__ import annotations

import pytest

from pegboard import Ask, Context, Deny
from pegboard.settings import Layer, Settings, installed_keys
from pegboard_bash.bash import Bash, BashInput
from pegboard_rules.opinions import decide_by_rules

LONG = "a" * 10_001
HIDING = (
    "{} # \u200b",
    "{} #\r",
    "true \u00a0; {}",
    f"{{}} #{LONG}",
    ":;" * 1_500 + "{}",
    ":;" * 9_000 + "{}",
    "a[0]=1;" + ":;" * 1_500 + "{}",
)
"""What makes a command one that always asks: a sign that is not seen, its length, the number of its parts."""


def decided(command, tmp_path):
    rules = {"permissions.allow": ["Bash"], "permissions.deny": ["Bash(curl:*)", "Read(.env)"]}
    settings = Settings([Layer("user", "x", rules)], cwd=str(tmp_path), root=str(tmp_path), keys=installed_keys())
    tool, ctx = Bash(), Context(cwd=tmp_path, settings=settings)
    args = BashInput(command=command)
    return decide_by_rules(tool, tool.facts(args, ctx), ctx, args)


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize(
    "command", ["'curl' x", "nice c\\url x", "sh -c 'curl x'", "cat '.env'", "cat < .env", "true > '.env'"]
)
def test_what_is_not_read_for_allowing_is_read_for_denying(command, hiding, tmp_path):
    (tmp_path / ".env").write_text("KEY=1")
    assert isinstance(decided(hiding.format(command), tmp_path), Deny)


@pytest.mark.parametrize("hiding", HIDING[:4])
def test_a_critical_path_asks_however_it_is_hidden(hiding, tmp_path):
    assert isinstance(decided(hiding.format("rm -rf /"), tmp_path), Ask)


@pytest.mark.parametrize(
    "command",
    [
        *('$"curl" x', '$"cu"rl x', "c$@url x", "cu${x}rl x", "${x:-curl} x", "${x-'curl'} x", "nice c$@url x"),
        *("ni$@ce curl x", 'sudo $"curl" x', "./cur? x", "env ./c*l x", "setarch -R curl x", "choom -n 0 curl x"),
    ],
)
def test_a_name_that_the_shell_completes_does_not_avoid_a_rule(command, tmp_path):
    (tmp_path / "curl").touch(mode=0o755)
    assert isinstance(decided(command, tmp_path), Deny)


@pytest.mark.parametrize(
    "command", ["echo 'curl\u200b'", f"echo curl #{LONG}", "echo $x curl", '$"echo" curl', ": 2>&1"]
)
def test_the_name_of_a_denied_program_may_be_an_argument(command, tmp_path):
    assert not isinstance(decided(command, tmp_path), Deny)
