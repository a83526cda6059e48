"""A guard that settings ask for and that is absent stops everything that acts, in an installation and in a bundle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import Share
from .test_build import Bundle, build, built
from .test_declared_settings import install
from .venvs import Environment

ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "sandbox": ({"sandbox": {"enabled": True}}, "sandbox.enabled needs pegboard-sandbox, which is not installed."),
    "hooks": ({"hooks": {"PreToolUse": [{"hooks": []}]}}, "hooks needs pegboard-hooks, which is not installed."),
    "denied files": (
        {"sandbox": {"filesystem": {"denyRead": ["~/.ssh"]}}},
        "sandbox.filesystem.denyRead needs pegboard-sandbox, which is not installed.",
    ),
}
RULES: dict[str, tuple[dict[str, Any], str]] = {
    "rules that deny": (
        {"permissions": {"deny": ["Read(secret*)"]}},
        "permissions.deny needs pegboard-rules, which is not installed.",
    ),
    "rules that ask": (
        {"permissions": {"ask": ["Read"]}},
        "permissions.ask needs pegboard-rules, which is not installed.",
    ),
    "a mode switched off": (
        {"permissions": {"disableBypassPermissionsMode": "disable"}},
        "permissions.disableBypassPermissionsMode needs pegboard-rules, which is not installed.",
    ),
    "an audit log": ({"audit": True}, "audit needs pegboard-rules, which is not installed."),
}
"""What the rules plugin promises. It is among the usual distributions of an environment."""

ACTS = (
    ("call", "Read", "file_path=script.jsonl"),
    ("run", "--replay", "{script}", "hello"),
    ("why", "Read", "file_path=script.jsonl"),
)


def script(folder: Path) -> Path:
    path = folder / "script.jsonl"
    path.write_text('{"content": [{"type": "text", "text": "hello"}]}\n')
    return path


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("layer", ["user", "project", "file"])
def test_a_guard_that_is_not_installed_stops_what_acts(environment: Environment, case: str, layer: str) -> None:
    values, reason = ASKED[case]
    folder = environment.home if layer == "user" else environment.work
    file = folder / ".pegboard/settings.json" if layer != "file" else folder / "guards.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(values))
    more = ["--settings", file] if layer == "file" else []
    if layer == "project" and case != "denied files":  # That one counts without trust.
        assert environment.pegboard("trust").returncode == 0
    for words in ACTS if case == "sandbox" else ACTS[:1]:
        command = [word.format(script=script(environment.work)) for word in words]
        done = environment.pegboard(command[0], *more, *command[1:])
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert f"{file}: {reason} Run pip install " in done.stderr
        assert done.stderr.count(reason) == 1
    listed = environment.pegboard("tools", *more)
    assert (listed.returncode, f"error: {file}: {reason}" in listed.stderr) == (0, True)
    checked = environment.pegboard("doctor", *more)
    assert (checked.returncode, f"guards: {file}: {reason}" in checked.stdout) == (1, True)


@pytest.mark.parametrize("values", [{"sandbox": {"enabled": False}}, {"hooks": {}}, {"sandbox": {"network": {}}}])
def test_what_asks_for_nothing_stops_nothing(environment: Environment, values: dict[str, Any]) -> None:
    environment.settings(**values)
    assert environment.pegboard("call", "Read", f"file_path={script(environment.work)}").returncode == 0


def test_hooks_of_a_clone_that_nobody_trusts_stop_nothing(environment: Environment) -> None:
    folder = environment.work / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(ASKED["hooks"][0] | {"permissions": {"allow": ["Bash"]}}))
    assert environment.pegboard("call", "Read", f"file_path={script(environment.work)}").returncode == 0


BOARD = """
from pegboard import Board, PolicyError
from pegboard.settings import load
try:
    Board.load(settings=load(managed={folder!r}))
except PolicyError as error:
    print(error.kind, error)
"""


@pytest.mark.parametrize("case", ["sandbox", "hooks"])
def test_managed_settings_stop_an_application_too(environment: Environment, case: str) -> None:
    values, reason = ASKED[case]
    (environment.folder / "etc").mkdir()
    (environment.folder / "etc/settings.json").write_text(json.dumps(values))
    said = environment.code(BOARD.format(folder=str(environment.folder / "etc"))).stdout
    assert said.startswith("guard-missing ")
    assert reason in said


def managing(folder: Path, values: dict[str, Any]) -> list[str]:
    """What to put before a command so that /etc/pegboard is a folder of ours for it."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a process have mounts of its own")
    (folder / "managed.json").write_text(json.dumps(values))
    lines = [
        "mount -t tmpfs none /etc",
        "mkdir /etc/pegboard",
        f"cp {folder}/managed.json /etc/pegboard/settings.json",
        'exec "$@"',
    ]
    return ["unshare", "-rm", "sh", "-ec", "\n".join(lines), "sh"]


def with_managed(environment: Environment, values: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    return environment.start(*managing(environment.folder, values), str(environment.bin / "pegboard"), *words)


@pytest.mark.parametrize("case", ASKED)
def test_managed_settings_stop_the_command_line(environment: Environment, case: str) -> None:
    values, reason = ASKED[case]
    done = with_managed(environment, values, "call", "Read", f"file_path={script(environment.work)}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"/etc/pegboard/settings.json: {reason}" in done.stderr


def test_rules_without_their_plugin_stop_what_acts(environment: Environment) -> None:
    environment.uninstall("pegboard-rules")
    read = ("call", "Read", f"file_path={script(environment.work)}")
    assert environment.pegboard(*read).returncode == 0
    for values, reason in RULES.values():
        managed = with_managed(environment, values, *read)
        assert (managed.returncode, managed.stdout) == (2, "")
        said = f"/etc/pegboard/settings.json: {reason} Run pip install pegboard-rules"
        assert said in managed.stderr
        environment.settings(**values)
        assert (environment.pegboard(*read).returncode, environment.pegboard("doctor").returncode) == (2, 1)
    for words in ACTS:
        command = [word.format(script=script(environment.work)) for word in words]
        assert environment.pegboard(*command).returncode == 2, words


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"disable": ["shel"]}, "'shel' names no family, plugin, distribution or tool. Did you mean 'shell'?"),
        ({"only": ["fles"]}, "'fles' names no family, plugin, distribution or tool. Did you mean 'files'?"),
        ({"sandbx": {"enabled": True}}, "There is no setting 'sandbx'. Did you mean 'sandbox'?"),
        (
            {"permissions": {"dney": ["Read"]}},
            "'permissions.dney'. Did you mean 'permissions.deny'?",
        ),
    ],
)
def test_a_slip_of_the_owner_stops_everything_and_elsewhere_warns(
    environment: Environment, values: dict[str, Any], reason: str
) -> None:
    words = ("call", "Read", f"file_path={script(environment.work)}")
    done = with_managed(environment, values, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    environment.settings(**{key: value for key, value in values.items() if key != "only"})
    warned = environment.pegboard("tools")
    assert (warned.returncode, reason in warned.stderr or "only" in values) == (0, True)
    assert environment.pegboard(*words).returncode == 0


def test_the_owner_may_switch_off_what_is_not_installed(environment: Environment) -> None:
    words = ("call", "Read", f"file_path={script(environment.work)}")
    assert with_managed(environment, {"disable": ["acme", "acme-spy", "mcp"]}, *words).returncode == 0


GUARD = """\
[settings."acme.hold"]
kind = "bool"
guard = true
repository = true
doc = "Whether it holds."
"""
POLICY = """
from pegboard import Deny, hookimpl

@hookimpl
def check_permission(tool, args, ctx):
    return Deny("acme holds") if ctx.settings.get("acme.hold") else None
"""


def test_a_strangers_guard_that_is_off_or_broken_stops_everything(environment: Environment) -> None:
    install(environment, GUARD, source=POLICY, entries={"policy.acme": "acme"})
    read = ("call", "Read", f"file_path={script(environment.work)}")
    assert environment.pegboard(*read).returncode == 0
    environment.settings(acme={"hold": True})
    assert environment.pegboard(*read).returncode == 3
    environment.settings(acme={"hold": True}, disable=["policy.acme"])
    done = environment.pegboard(*read)
    assert done.returncode == 2
    assert "acme.hold needs policy.acme. policy.acme is disabled by " in done.stderr
    environment.settings(disable=["policy.acme"])
    assert environment.pegboard(*read).returncode == 0
    environment.uninstall("acme")
    install(environment, GUARD, source="import nowhere", entries={"policy.acme": "acme"}, version="2.0")
    environment.settings(acme={"hold": True})
    assert environment.pegboard(*read).returncode == 2


@pytest.fixture(scope="session")
def unguarded(share: Share) -> Path:
    words = ("--families", "files", "--without", "policy")
    return share("unguarded", lambda folder: built(folder / "pegboard.pyz", *words)) / "pegboard.pyz"


@pytest.fixture(scope="session")
def guarded(share: Share) -> Path:
    hooks = {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "exit 2"}]}]}

    def make(folder: Path) -> None:
        (folder / "baked.json").write_text(json.dumps({"hooks": hooks}))
        built(folder / "pegboard.pyz", "--families", "files", "--settings", str(folder / "baked.json"))

    return share("guarded", make) / "pegboard.pyz"


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", ["sandbox", "hooks", *RULES])
def test_a_guard_that_a_bundle_lacks_stops_what_acts(unguarded: Path, tmp_path: Path, case: str) -> None:
    values, reason = (ASKED | RULES)[case]
    bundle = Bundle([str(unguarded)], tmp_path)
    (bundle.work / "a.txt").write_text("alpha\n")
    assert bundle.start("call", "Read", "file_path=a.txt").returncode == 0
    (bundle.home / ".pegboard").mkdir()
    (bundle.home / ".pegboard/settings.json").write_text(json.dumps(values))
    for words in (["call", "Read", "file_path=a.txt"], ["run", "--replay", str(script(bundle.work)), "hello"]):
        done = bundle.start(*words)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert reason in bundle.start("doctor").stdout
    (bundle.home / ".pegboard/settings.json").unlink()
    managed = Bundle([*managing(tmp_path, values), str(unguarded)], tmp_path)
    done = managed.start("call", "Read", "file_path=a.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"/etc/pegboard/settings.json: {reason} Run pip install " in done.stderr


def test_what_is_baked_in_is_kept(guarded: Path, tmp_path: Path) -> None:
    bundle = Bundle([str(guarded)], tmp_path)
    (bundle.work / "a.txt").write_text("alpha\n")
    assert bundle.start("call", "Read", "file_path=a.txt").returncode == 3
    assert bundle.start("call", "Read", "file_path=a.txt", PEGBOARD_DISABLE="policy.hooks").returncode == 3
    assert bundle.start("call", "Write", "file_path=b.txt", "content=x", "--yes").returncode == 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"sandbox": {"enabled": True}}, "sandbox.enabled in the settings needs pegboard-sandbox, which is left out."),
        ({"hooks": {"Stop": [{}]}}, "hooks in the settings needs pegboard-hooks, which is left out."),
        ({"permissions": {"deny": ["Read"]}}, "permissions.deny in the settings needs pegboard-rules, which is left"),
        ({"disable": ["shel"]}, "Did you mean 'shell'?"),
        ({"sandbox": {"enabled": "yes"}}, "needs pegboard-sandbox"),
        ({"strict": "yes"}, "strict must be true or false"),
        ({"only": ["files"]}, "Use --families instead"),
        ({"nothing": 1}, "There is no setting 'nothing'."),
    ],
)
def test_a_bundle_that_could_not_keep_its_settings_is_not_built(
    tmp_path: Path, values: dict[str, Any], reason: str
) -> None:
    (tmp_path / "baked.json").write_text(json.dumps(values))
    without = "policy.sandbox,pegboard-hooks,policy.rules"
    words = ["--families", "files", "--without", without, "--settings", str(tmp_path / "baked.json")]
    done = build(tmp_path / "out.pyz", *words)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "out.pyz").exists()
