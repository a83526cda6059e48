"""What a process may know of its host."""

from __future__ import annotations

import pytest

from pegboard_processes.environment import PREDICTABLE, is_secret, scrubbed

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRET = [
    *(("ANTHROPIC_API_KEY", "x"), ("ANTHROPIC_BASE_URL", "http://localhost"), ("OPENAI_ORG_ID", "x")),
    *(("STRIPE_API_KEY", "x"), ("MYAPIKEY", "x"), ("SSH_PRIVATE_KEY", "x"), ("DEPLOY_KEY", "x"), ("api_key", "x")),
    *(("GITHUB_TOKEN", "x"), ("TOKEN", "x"), ("CI_JOB_TOKEN", "x"), ("VAULT_TOKEN_FILE", "x"), ("GITHUB_PAT", "x")),
    *(("CLIENT_SECRET", "x"), ("SECRET_KEY_BASE", "x"), ("DJANGO_SECRET", "x")),
    *(("PGPASSWORD", "x"), ("DB_PASSWORD_FILE", "x"), ("MYSQL_PWD", "x"), ("SMTP_PASS", "x"), ("GPG_PASSPHRASE", "x")),
    *(("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("AWS_SESSION_TOKEN", "x")),
    *(("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "x"), ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "x")),
    *(("AZURE_CLIENT_SECRET", "x"), ("AZURE_CLIENT_CERTIFICATE_PATH", "x"), ("AZURE_STORAGE_CONNECTION_STRING", "x")),
    *(("GOOGLE_APPLICATION_CREDENTIALS", "/x.json"), ("GOOGLE_API_KEY", "x"), ("NPM_CONFIG__AUTH", "x")),
    *(
        ("DATABASE_URL", "postgres://ada:hush@db/x"),
        ("REDIS", "redis://:hush@cache:6379"),
        ("http_proxy", "http://a:b@p:1"),
    ),
    ("MSSQL", "Server=db;User=sa;Password=hush;"),
    ("SETTING", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"),
    ("A", "sk-" + "a1" * 12),
    ("B", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("C", "xoxb-1234567890-abcdef"),
    ("D", "AKIAIOSFODNN7EXAMPLE"),
    ("E", JWT),
    ("F", "Bearer abcdefghijklmnopqrstuvwxyz"),
    ("G", "glpat-abcdefghijklmnopqrst"),
    ("H", "curl -H 'Authorization: token ghp_abcdefghijklmnopqrstuvwxyz0123456789'"),
]

PLAIN = [
    *(("PATH", "/usr/bin:/bin"), ("HOME", "/home/ada"), ("LANG", "C.UTF-8"), ("PWD", "/src"), ("OLDPWD", "/")),
    *(("USER", "ada"), ("SHELL", "/bin/bash"), ("TMPDIR", "/tmp"), ("VIRTUAL_ENV", "/src/.venv"), ("EDITOR", "vim")),
    *(("SSH_AUTH_SOCK", "/run/user/1000/agent"), ("XAUTHORITY", "/home/ada/.Xauthority"), ("KUBECONFIG", "/x")),
    *(("AWS_REGION", "eu-west-1"), ("AWS_PROFILE", "dev"), ("GOOGLE_CLOUD_PROJECT", "x"), ("AZURE_LOCATION", "x")),
    *(
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "100"),
        ("KEYBOARD", "us"),
        ("MONKEY", "x"),
        ("COMPASS", "n"),
    ),
    *(("REPO", "ssh://git@example.org/x"), ("URL", "https://example.org:8443/a@b"), ("NO_COLOR", "1"), ("CI", "true")),
    *(("TASK", "task-force-of-many-people"), ("NOTE", "sk-8 board"), ("EMPTY", "")),
]


@pytest.mark.parametrize(("name", "value"), SECRET)
def test_secrets_are_withheld(name, value):
    assert is_secret(name, value)
    assert name not in scrubbed({name: value})


@pytest.mark.parametrize(("name", "value"), PLAIN)
def test_what_is_no_secret_is_passed_on(name, value):
    assert scrubbed({name: value})[name] == value


def test_every_process_finds_a_predictable_base():
    host = {"TERM": "xterm-256color", "PAGER": "less", "GIT_PAGER": "delta", "PEGBOARD": "no"}
    assert scrubbed(host) == {
        "PEGBOARD": "1",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }


@pytest.mark.parametrize("name", ["MANPAGER", "GH_PAGER", "SYSTEMD_PAGER", "FORCE_COLOR", "CLICOLOR_FORCE"])
def test_nothing_brings_pagers_and_colours_back(name):
    assert name not in scrubbed({name: "less"})


def test_an_allowed_secret_is_passed_on():
    env = {"GITHUB_TOKEN": "x", "CI_TOKEN": "y", "NPM_TOKEN": "z"}
    assert scrubbed(env, allow=["GITHUB_TOKEN", "ci_*"]) == {**PREDICTABLE, "GITHUB_TOKEN": "x", "CI_TOKEN": "y"}


def test_deny_takes_more_away_and_beats_allow():
    env = {"SSH_AUTH_SOCK": "/s", "LANG": "C", "CI_TOKEN": "y"}
    assert scrubbed(env, allow=["CI_*"], deny=["ssh_*", "CI_TOKEN", "TERM"]) == {
        **{name: value for name, value in PREDICTABLE.items() if name != "TERM"},
        "LANG": "C",
    }


def test_the_host_is_left_alone():
    env = {"GITHUB_TOKEN": "x"}
    scrubbed(env)
    assert env == {"GITHUB_TOKEN": "x"}
