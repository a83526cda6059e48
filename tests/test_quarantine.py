"""A plugin that fails hurts nobody but itself, and says exactly why it failed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .broken import BROKEN, id_of, install_all
from .venvs import Environment, Supplies, tool_source


@pytest.fixture(scope="module")
def ruins(supplies: Supplies, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with every broken plugin installed at once."""
    made = Environment(tmp_path_factory.mktemp("ruins") / "environment", supplies, "pegboard-read")
    install_all(made)
    return made


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_quarantined_with_its_own_kind_and_a_useful_reason(ruins: Environment, kind: str) -> None:
    row = ruins.plugins()[id_of(kind)]

    assert (row["state"], row["kind"]) == ("quarantined", kind)
    assert re.match(BROKEN[kind][1], row["reason"]), row["reason"]


def test_every_healthy_tool_works_among_the_broken_ones(ruins: Environment) -> None:
    (ruins.work / "note.txt").write_text("still here\n")

    assert list(ruins.tools()) == ["Read", "Ahead", "Noisy"]
    assert ruins.call("Ahead", who="you") == "Go ahead, you"
    assert "still here" in ruins.call("Read", file_path="note.txt")


def test_what_an_import_raised_is_kept_as_a_traceback(ruins: Environment) -> None:
    row = ruins.plugins()[id_of("import-error")]

    assert "ModuleNotFoundError" in row["traceback"]
    assert "acme_import_error/__init__.py" in row["traceback"]


def test_printing_on_import_is_noted_and_keeps_out_of_stdout(ruins: Environment) -> None:
    ruins.forget()
    done = ruins.pegboard("plugins", "--json")

    rows = {row["id"]: row for row in json.loads(done.stdout)}
    assert rows["acme-noisy:acme.noisy"]["printed"] == "good morning\n"
    assert rows["acme-noisy:acme.noisy"]["state"] == "active"
    assert "good morning" not in done.stderr


def test_a_tool_that_lacks_its_program_has_a_reason_and_returns_with_the_program(
    ruins: Environment, tmp_path: Path
) -> None:
    gone = ruins.absent()["Weld"]
    program = tmp_path / "a-program-nobody-has"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{ruins.variables()['PATH']}"

    assert gone["layer"] == "missing-binary"
    assert "Weld" in ruins.tools(PATH=path)
    assert ruins.plugins(PATH=path)[id_of("missing-binary")]["state"] == "active"


def test_strict_makes_the_first_broken_plugin_fatal_and_names_it(ruins: Environment) -> None:
    done = ruins.pegboard("tools", PEGBOARD_STRICT="1")

    assert done.returncode == 2
    assert done.stdout == ""
    assert re.search(r"acme-[a-z-]+:acme\.[a-z-]+: \w+", done.stderr)
    assert "Traceback" not in done.stderr


def test_strict_is_content_where_nothing_is_broken(environment: Environment) -> None:
    assert list(environment.tools(PEGBOARD_STRICT="1")) == ["Read"]


def test_safe_mode_loads_built_in_plugins_only(ruins: Environment) -> None:
    rows = ruins.plugins(PEGBOARD_SAFE_MODE="1").values()

    assert list(ruins.tools(PEGBOARD_SAFE_MODE="1")) == ["Read"]
    assert {row["state"] for row in rows if not row["distribution"].startswith("pegboard-")} == {"disabled"}
    assert {row["state"] for row in rows if row["distribution"].startswith("pegboard-")} == {"active"}
    assert {row["reason"] for row in rows} == {"", "Safe mode loads built-in plugins only."}


def test_safe_mode_with_an_empty_index_imports_no_stranger(ruins: Environment, tmp_path: Path) -> None:
    source = "import sys; from pegboard_cli.main import main; main(['tools']); print(*sys.modules)"
    done = ruins.code(source, PEGBOARD_SAFE_MODE="1", XDG_CACHE_HOME=str(tmp_path))

    loaded = done.stdout.split()
    assert "pegboard_read" in loaded
    assert not [name for name in loaded if name.startswith("acme")]


@pytest.fixture
def with_a_guard(environment: Environment) -> Callable[[str], Environment]:
    """An environment with a third party's plugin of the family policy."""

    def make(source: str) -> Environment:
        environment.plugin("acme-guard", source, {"policy.guard": "acme_guard"})
        return environment

    return make


def test_a_guard_that_cannot_be_loaded_is_fatal_without_strict(with_a_guard: Callable[[str], Environment]) -> None:
    environment = with_a_guard("import a_module_that_nobody_has\n")
    (environment.work / "note.txt").write_text("secret\n")
    called = environment.pegboard("call", "Read", "file_path=note.txt")
    listed = environment.pegboard("tools")

    assert (called.returncode, listed.returncode) == (2, 2)
    assert "acme-guard:policy.guard: acme_guard cannot be imported" in called.stderr
    assert "secret" not in called.stdout


def test_a_broken_guard_raises_policy_error_for_an_embedder(with_a_guard: Callable[[str], Environment]) -> None:
    environment = with_a_guard("raise SystemExit\n")
    source = (
        "from pegboard import Board, PolicyError\n"
        "try:\n    Board.load()\nexcept PolicyError as error:\n    print(error.kind, error)"
    )

    assert environment.code(source).stdout.startswith("exit-on-import acme-guard:policy.guard: ")


def test_a_broken_guard_can_still_be_inspected(with_a_guard: Callable[[str], Environment]) -> None:
    environment = with_a_guard("import a_module_that_nobody_has\n")

    assert environment.plugins()["acme-guard:policy.guard"]["kind"] == "import-error"


def test_safe_mode_and_family_switches_do_not_reach_a_guard(with_a_guard: Callable[[str], Environment]) -> None:
    environment = with_a_guard("import a_module_that_nobody_has\n")

    assert environment.pegboard("tools", PEGBOARD_SAFE_MODE="1").returncode == 2
    assert environment.pegboard("tools", PEGBOARD_ONLY="files").returncode == 2
    refused = environment.pegboard("tools", PEGBOARD_DISABLE="policy")
    assert refused.returncode == 2


def test_a_guard_is_switched_off_by_its_full_name(with_a_guard: Callable[[str], Environment]) -> None:
    environment = with_a_guard("import a_module_that_nobody_has\n")

    assert list(environment.tools(PEGBOARD_DISABLE="policy.guard")) == ["Read"]


def test_damaged_entry_points_of_one_distribution_leave_the_rest_alone(environment: Environment) -> None:
    environment.plugin("acme-hello", tool_source())
    (environment.site / "acme_hello-1.0.dist-info/entry_points.txt").write_bytes(b"[pegboard]\nacme.hello\xff\n")
    unrelated = environment.site / "unrelated-1.0.dist-info"
    unrelated.mkdir()
    (unrelated / "METADATA").write_text("Metadata-Version: 2.1\nName: unrelated\nVersion: 1.0\n")
    (unrelated / "entry_points.txt").write_text("[console_scripts]\nno equals sign\n")

    without = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}  # pydantic reads all entry points too, and stumbles over these
    rows = environment.plugins(**without)

    assert list(environment.tools(**without)) == ["Read"]
    assert {row["kind"] for row in rows.values() if row["distribution"].startswith("pegboard-")} == {""}
    assert [row["kind"] for row in rows.values() if not row["distribution"].startswith("pegboard-")] == ["bad-metadata"]
    (broken,) = [row for row in rows.values() if row["kind"]]
    assert re.search(r"The metadata in \S+acme_hello-1.0.dist-info cannot be read: ", broken["reason"])
    assert "Reinstall acme_hello." in broken["reason"]


def test_a_module_of_another_distribution_is_refused(environment: Environment) -> None:
    environment.plugin("acme-hello", tool_source())
    environment.plugin("acme-thief", "", {"acme.thief": "acme_hello"})

    thief = environment.plugins()["acme-thief:acme.thief"]

    assert (thief["state"], thief["kind"]) == ("quarantined", "foreign-module")
    assert "which is not part of acme-thief" in thief["reason"]


ENABLED = """
import sys
from pegboard import Context, Input, Tool, hookimpl


class Nothing(Input):
    pass


class Shy(Tool[Nothing, str]):
    'Be shy.'

    def is_enabled(self):
        {body}

    def call(self, args: Nothing, ctx: Context) -> str:
        return "here"


@hookimpl
def register_tools():
    return [Shy()]
"""


def test_is_enabled_that_exits_or_prints_hurts_nobody_else(environment: Environment) -> None:
    environment.plugin("acme-exit", ENABLED.format(body="sys.exit(7)"))
    assert list(environment.tools()) == ["Read"]
    assert environment.absent()["Shy"]["reason"] == "Shy cannot say whether it is enabled: SystemExit: 7"
    environment.uninstall("acme-exit")

    environment.plugin("acme-talk", ENABLED.format(body="print('hello'); return True"))
    assert list(environment.tools()) == ["Read", "Shy"]


@pytest.mark.parametrize(
    ("file", "content", "kind"),
    [
        ("direct_url.json", b"[]", ""),
        ("direct_url.json", b'{"dir_info": {"editable": true}}', ""),
        ("RECORD", b"\xff\xfe", "bad-metadata"),
        ("METADATA", b"", "bad-metadata"),
    ],
)
def test_damaged_metadata_of_one_distribution_is_its_own_trouble(
    environment: Environment, file: str, content: bytes, kind: str
) -> None:
    environment.plugin("acme-hello", tool_source())
    (environment.site / "acme_hello-1.0.dist-info" / file).write_bytes(content)
    environment.forget()

    rows = environment.plugins()

    assert {row["kind"] for row in rows.values() if row["distribution"].startswith("pegboard-")} == {""}
    assert [row["kind"] for row in rows.values() if not row["distribution"].startswith("pegboard-")] == [kind]
    assert "Read" in environment.tools()


def test_a_plugin_that_fails_after_it_was_indexed_is_quarantined(environment: Environment) -> None:
    source = "import os\nfrom pegboard import hookimpl\nif 'FAIL' in os.environ:\n    raise OSError('no')\n"
    environment.plugin("acme-moody", f"{source}\n@hookimpl\ndef observe(event):\n    pass\n")
    (environment.work / "note.txt").write_text("here\n")
    environment.settle()
    environment.tools()

    done = environment.pegboard("call", "Read", "file_path=note.txt", FAIL="1")

    assert done.returncode == 0, done.stderr
    assert "here" in done.stdout


def test_what_a_plugin_says_or_breaks_while_it_is_asked_stays_out_of_the_json(environment: Environment) -> None:
    facts = "def facts(args, ctx):\n    print('noise')\n    return Facts(read_only=True, open_world=False)\n\n\n@tool("
    source = tool_source(options="facts=facts").replace("@tool(", facts)
    environment.plugin("acme-hello", source.replace("import Context", "import Context, Facts"))
    environment.plugin("acme-sick", "from pegboard import hookimpl\n\n@hookimpl\ndef diagnose(settings):\n    1 / 0\n")

    called = environment.pegboard("call", "Hello", "who=you", "--json")
    doctor = environment.pegboard("doctor", "--json")

    assert json.loads(called.stdout)["content"] == [{"type": "text", "text": "Greet somebody. you"}]
    assert "noise" in called.stderr
    said = [finding["message"] for finding in json.loads(doctor.stdout) if finding["area"] == "acme.sick"]
    assert said == ["Its self-check failed: ZeroDivisionError: division by zero"]


def test_a_command_or_tool_that_crashes_gives_a_sentence_and_with_debug_a_traceback(environment: Environment) -> None:
    crash = 'return f"Greet somebody. {args.who}"'
    environment.plugin("acme-hello", tool_source().replace(crash, "return 1 / 0") + "\n\ndef run(words):\n    1 / 0\n")
    entries = environment.site / "acme_hello-1.0.dist-info/entry_points.txt"
    entries.write_text(f"{entries.read_text()}\n[pegboard.commands]\nboom = acme_hello:run\n")
    environment.forget()

    for words in (["boom"], ["call", "Hello", "who=you"]):
        done = environment.pegboard(*words)
        assert done.returncode == 1
        assert "ZeroDivisionError" in done.stderr
        assert "Traceback" not in done.stderr
        assert "Traceback" in environment.pegboard(*words, "--debug").stderr
