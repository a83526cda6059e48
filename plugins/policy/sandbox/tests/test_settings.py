"""What the settings say, in our own files and in those of a compatible host."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from pegboard.extensions import Fine
from pegboard.settings import load
from pegboard_sandbox import bubblewrap, mechanism
from pegboard_sandbox.credentials import credential_variables, faults
from pegboard_sandbox.policy import Policy


@pytest.fixture
def read(tmp_path):
    """Settings as they are read from a file at a place."""

    def reading(sandbox, place="home/.pegboard/settings.json", **cli):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"sandbox": sandbox}))
        return load(tmp_path, {"HOME": str(tmp_path / "home")}, cli or None)

    return reading


WHOLE = {
    "enabled": True,
    "failIfUnavailable": False,
    "autoAllowBashIfSandboxed": False,
    "excludedCommands": ["docker *"],
    "filesystem": {"allowWrite": ["w"], "denyWrite": ["d"], "denyRead": ["r"], "allowRead": ["r/a"]},
    "network": {"allowedDomains": ["a.example"], "deniedDomains": ["b.a.example"], "allowUnixSockets": ["/s"]},
}


@pytest.mark.parametrize("place", ["home/.pegboard/settings.json", "home/.claude/settings.json"])
def test_every_setting_is_read_from_our_file_and_from_a_compatible_one(read, tmp_path, place):
    settings = read(WHOLE, place)
    assert settings.problems == []
    assert settings.notices == []
    assert Policy.of(settings) == Policy(
        mechanism="auto",
        required=False,
        network="proxy",
        domains=("a.example",),
        denied_domains=("b.a.example",),
        sockets=("/s",),
        allow_write=(str(tmp_path / "w"),),
        deny_write=(str(tmp_path / "d"),),
        deny_read=(str(tmp_path / "r"),),
        allow_read=(str(tmp_path / "r/a"),),
        excluded=("docker *",),
        allows_bash=False,
    )


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        ({"enable": True}, "There is no setting 'sandbox.enable'. Did you mean 'sandbox.enabled'?"),
        ({"network": {"allowDomains": []}}, "There is no setting 'sandbox.network.allowDomains'."),
        ({"allowWrite": ["x"]}, "There is no setting 'sandbox.allowWrite'."),
        (
            {"filesystem": {"disabled": True}},
            "sandbox.filesystem.disabled is not used: files are always protected; use allowWrite.",
        ),
        (
            {"network": {"httpProxyPort": 8080}},
            "sandbox.network.httpProxyPort is not used: only Pegboard's own proxy is used.",
        ),
        (
            {"network": {"strictAllowlist": False}},
            "sandbox.network.strictAllowlist is not used: the sandbox never asks about a host; use allowedDomains.",
        ),
    ],
)
@pytest.mark.parametrize("place", ["home/.pegboard/settings.json", "home/.claude/settings.json"])
def test_a_key_without_effect_is_said(read, place, sandbox, said):
    [notice] = read(sandbox, place).notices
    assert notice.message.startswith(said)


@pytest.mark.parametrize(
    "sandbox",
    [
        {"allowUnsandboxedCommands": False},
        {"filesystem": {"disabled": False}},
        {"network": {"strictAllowlist": True, "tlsTerminate": False, "allowLocalBinding": True}},
    ],
)
def test_a_key_that_asks_for_what_holds_anyway_is_accepted(read, sandbox):
    settings = read(sandbox)
    assert (settings.notices, settings.problems) == ([], [])


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        ({"network": "off"}, 'sandbox.network must be an object, got "off".'),
        ({"enabled": "yes"}, 'sandbox.enabled must be true or false, got "yes".'),
        ({"network": {"mode": "open"}}, 'sandbox.network.mode must be one of off, on, proxy, got "open".'),
        ({"filesystem": {"denyRead": "x"}}, 'sandbox.filesystem.denyRead must be a list of strings, got "x".'),
    ],
)
def test_a_value_of_the_wrong_kind_is_a_problem(read, sandbox, said):
    [problem] = read(sandbox).problems
    assert said in str(problem)


@pytest.mark.parametrize("place", [".pegboard/settings.json", ".claude/settings.json"])
def test_a_repository_may_tighten_the_sandbox_but_not_loosen_it(read, tmp_path, place):
    wanted = WHOLE | {"enabled": False, "network": WHOLE["network"] | {"mode": "on"}, "keepEnv": ["*"]}
    policy = Policy.of(read(wanted, place, **{"sandbox.enabled": True}))
    assert policy == Policy(
        denied_domains=("b.a.example",), deny_write=(str(tmp_path / "d"),), deny_read=(str(tmp_path / "r"),)
    )


def test_credentials_are_withheld_whoever_names_them(read, tmp_path):
    named = {
        "files": [{"path": "~/.aws/credentials", "mode": "deny"}, {"path": "key.pem"}],
        "envVars": [{"name": "GH_*"}],
    }
    settings = read({"credentials": named, "keepEnv": ["*"]}, ".claude/settings.json", **{"sandbox.enabled": True})
    policy = Policy.of(settings)
    home = os.path.realpath(os.path.expanduser("~/.aws/credentials"))
    assert policy.deny_read == (home, str(tmp_path / "key.pem"))
    kept = replace(policy, keep_env=("GH_TOKEN", "OTHER"))
    assert kept.environment({"GH_TOKEN": "x", "OTHER": "y"}) == {"OTHER": "y"}
    assert faults(settings) == []


def test_a_mode_of_credentials_that_is_not_known_still_withholds(read):
    settings = read({"credentials": {"envVars": [{"name": "A", "mode": "mask"}, {"nam": "B"}], "hosts": []}})
    assert credential_variables(settings) == ("A",)
    assert [fault.partition("sandbox.credentials")[2] for fault in faults(settings)] == [
        " has no 'hosts'.",
        ".envVars: the mode 'mask' is not supported, so A is denied.",
        ".envVars: each entry needs a 'name', got {'nam': 'B'}.",
    ]


def test_the_network_is_off_unless_a_host_is_named(read):
    assert Policy.of(read({"enabled": True})).network == "off"
    assert Policy.of(read({"enabled": True, "network": {"allowedDomains": ["a"], "mode": "off"}})).network == "off"


def test_the_doctor_says_what_the_settings_leave_open(read):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    on = read({"enabled": True, "network": {"mode": "on", "allowedDomains": ["a"]}})
    assert mechanism.diagnose(on)[1:] == [
        "The sandbox leaves the network open: sandbox.network.mode is on.",
        "sandbox.network.allowedDomains is not used: sandbox.network.mode is on.",
    ]


@pytest.mark.parametrize(
    ("enabled", "how"), [(True, "On, with bubblewrap; the network is off."), (False, "Switched off.")]
)
def test_the_doctor_says_what_is_available(read, enabled, how):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    [said] = mechanism.diagnose(read({"enabled": enabled}))
    assert isinstance(said, Fine)
    assert said.startswith(f"{how} Here bubblewrap can be used ({bubblewrap.find()}), Landlock can")


@pytest.mark.parametrize(
    ("rule", "paths"),
    [
        ("Read(.env)", ["{root}/.env"]),
        ("Read(./.env)", ["{root}/.env"]),
        ("Read(secrets/**)", ["{root}/secrets"]),
        ("Read(//etc/shadow)", ["/etc/shadow"]),
        ("Read(~/.ssh/**)", ["{home}/.ssh"]),
        ("Read(*.pem)", ["{root}/a.pem"]),
        ("Read(keys/*.pem)", ["{root}/keys/b.pem"]),
    ],
)
def test_what_a_rule_denies_to_read_is_hidden(tmp_path, monkeypatch, rule, paths):
    home = tmp_path / "home"
    (tmp_path / "keys").mkdir()
    for name in ("a.pem", "keys/b.pem"):
        (tmp_path / name).touch()
    monkeypatch.setenv("HOME", str(home))
    settings = load(tmp_path, {"HOME": str(home)}, {"sandbox.enabled": True, "permissions.deny": [rule]})
    found = [path.format(root=tmp_path, home=home) for path in paths]
    assert list(Policy.of(settings).unreadable) == found


def test_rules_on_edits_and_hosts_count_for_commands_too(tmp_path):
    rules = {
        "permissions.allow": ["Edit(//data/out/**)", "Edit(*.md)", "WebFetch(domain:docs.example)", "Read(//etc/**)"],
        "permissions.deny": ["Edit(deploy/**)", "WebFetch(domain:evil.example)"],
        "permissions.ask": ["Edit(//ask/**)", "WebFetch(domain:ask.example)"],
    }
    settings = load(tmp_path, {"HOME": "/nonexistent"}, {"sandbox.enabled": True, **rules})
    policy = Policy.of(settings)
    assert (policy.allow_write, policy.deny_write) == (("/data/out",), (str(tmp_path / "deploy"),))
    assert (policy.network, policy.domains, policy.denied_domains) == ("off", (), ("evil.example",))
    opened = Policy.of(
        load(tmp_path, {}, {"sandbox.enabled": True, "sandbox.network.allowedDomains": ["a.example"], **rules})
    )
    assert (opened.network, opened.domains) == ("proxy", ("a.example", "docs.example"))


def test_the_doctor_names_a_rule_that_no_sandbox_can_hold(tmp_path):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    settings = load(tmp_path, {}, {"sandbox.enabled": True, "permissions.deny": ["Read(*/private/**)"]})
    _, said = mechanism.diagnose(settings)
    assert said.startswith("The rule Read(*/private/**) in the command line does not apply to what a command starts")
