"""One distribution of a third party brings every kind of thing, from the public names alone: the one of the docs."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pegboard
import pegboard_session

from .pages import blocks
from .venvs import Environment, write_wheel

PAGE = Path(__file__).parent.parent / "docs/how-to/bring-more-than-tools.md"
NOTES, POLICY, PROVIDER, REPORT = blocks(PAGE, "py")
POLICY_SOURCE = "check_permission of acme:policy.acme"


@pytest.fixture
def acme(environment: Environment) -> Environment:
    project = tomllib.loads(blocks(PAGE, "toml")[0])["project"]
    points = project["entry-points"]
    files = {
        "acme/__init__.py": NOTES,
        "acme/policy.py": POLICY,
        "acme/provider.py": PROVIDER,
        "acme/report.py": REPORT,
        "acme/pegboard.toml": blocks(PAGE, "ini")[0],
    }
    groups = {"settings": points["pegboard.settings"], "commands": points["pegboard.commands"]}
    environment.install(write_wheel(environment.wheels, project["name"], files, points["pegboard"], **groups))
    return environment


def repository_settings(environment: Environment, **values: Any) -> None:
    folder = environment.work / ".pegboard"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"acme": values}))


@pytest.mark.parametrize(
    ("source", "facades"),
    [(NOTES, [pegboard]), (POLICY, [pegboard]), (PROVIDER, [pegboard, pegboard_session]), (REPORT, [pegboard])],
    ids=["notes", "policy", "provider", "report"],
)
def test_it_imports_from_the_facades_only(source: str, facades: list[ModuleType]) -> None:
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [node.module for node in imported if isinstance(node, ast.ImportFrom)] == [each.__name__ for each in facades]
    assert len(imported) == len(facades)
    for node, facade in zip(imported, facades, strict=True):
        assert {alias.name for alias in node.names} <= set(facade.__all__)


def test_its_source_brings_a_tool_that_uses_its_service_and_its_settings(acme: Environment) -> None:
    assert acme.call("AddNote", text="milk") == "- milk"
    repository_settings(acme, prefix="*")
    assert acme.call("AddNote", text="milk") == "* milk"


def test_its_command_runs_calls_on_one_board(acme: Environment) -> None:
    done = acme.pegboard("acme-report", "milk", "bread")
    assert (done.returncode, done.stdout) == (0, "- milk\n- bread\n"), done.stderr
    assert "acme-report" in acme.pegboard("--help").stdout


def test_its_provider_runs_a_session(acme: Environment) -> None:
    acme.settings(provider="acme", permissions={"allow": ["AddNote"]})
    done = acme.pegboard("run", "Remember the milk.")
    assert (done.returncode, done.stdout.strip().splitlines()[-1:]) == (0, ["- buy milk"]), done.stderr


def test_its_policy_denies_and_is_named(acme: Environment) -> None:
    acme.settings(acme={"freeze": True}, permissions={"allow": ["AddNote"]})
    why = json.loads(acme.pegboard("why", "AddNote", "text=milk", "--json").stdout)
    assert (why["decision"], why["reason"], why["source"]) == ("deny", "The notebook is frozen.", POLICY_SOURCE)
    assert POLICY_SOURCE in acme.pegboard("why", "AddNote", "text=milk").stdout
    done = acme.pegboard("call", "AddNote", "text=milk", "--yes")
    assert done.returncode != 0
    assert "The notebook is frozen." in done.stdout + done.stderr
    log = acme.home / ".local/state/pegboard/audit.jsonl"
    noted = [json.loads(line) for line in log.read_text().splitlines()][-1]
    assert (noted["tool"], noted["decision"], noted["source"]) == ("AddNote", "deny", POLICY_SOURCE)


def test_a_repository_may_set_what_its_declaration_lets_it(acme: Environment) -> None:
    acme.settings(acme={"freeze": True})
    repository_settings(acme, freeze=False)
    done = acme.pegboard("call", "AddNote", "text=milk", "--yes")
    said = "acme.freeze is not used: an untrusted project cannot loosen permissions. To use it, run pegboard trust."
    assert said in done.stderr
    assert "The notebook is frozen." in done.stdout + done.stderr
    assert acme.pegboard("trust").returncode == 0
    assert acme.call("AddNote", text="milk") == "- milk"


def test_settings_and_doctor_show_it(acme: Environment) -> None:
    acme.settings(acme={"freeze": True})
    shown = json.loads(acme.pegboard("settings", "acme", "--json").stdout)["settings"]
    assert {row["key"]: (row["value"], row["distribution"]) for row in shown} == {
        "acme.freeze": (True, "acme"),
        "acme.prefix": ("-", "acme"),
    }
    done = acme.pegboard("doctor")
    assert done.returncode == 0, done.stdout
    assert "The notebook is frozen." in done.stdout
    ids = {"acme:acme.notes", "acme:policy.acme", "acme:providers.acme"}
    assert {row["state"] for name, row in acme.plugins().items() if name in ids} == {"active"}
    assert ids <= acme.plugins().keys()
