"""One owner a tool name, in real environments: nobody wins in silence, and settings choose."""

from __future__ import annotations

import json

from .conftest import MakeEnvironment
from .venvs import Environment, tool_source

BOTH = "pegboard-read and acme-files both own the tool 'Read'. The built-in is kept."


def test_the_built_in_stays_and_both_owners_are_reported(environment: Environment) -> None:
    environment.plugin("acme-files", tool_source("Read", prompt="Read otherwise."))
    done = environment.pegboard("tools", "--json", "--all")

    (kept,) = [row for row in json.loads(done.stdout) if row["name"] == "Read" and row["state"] == "active"]
    (lost,) = [row for row in json.loads(done.stdout) if row["name"] == "Read" and row["state"] == "absent"]
    assert (kept["distribution"], kept["partition"]) == ("pegboard-read", "built-in")
    assert (lost["distribution"], lost["layer"]) == ("acme-files", "conflict")
    assert lost["reason"] == BOTH + ' To choose acme-files, set "prefer": {"Read": "acme-files"}.'
    assert BOTH in done.stderr


def test_the_plugin_that_lost_is_listed_as_in_conflict(environment: Environment) -> None:
    environment.plugin("acme-files", tool_source("Read"))
    rows = environment.plugins()

    assert rows["pegboard-read:files.read"]["state"] == "active"
    lost = rows["acme-files:acme.files"]
    assert (lost["state"], lost["kind"]) == ("conflict", "name-taken")
    assert BOTH in lost["reason"]


def test_prefer_in_the_users_settings_gives_the_name_to_the_other(environment: Environment) -> None:
    environment.plugin("acme-files", tool_source("Read", prompt="Read otherwise:"))
    environment.settings(prefer={"Read": "Acme_Files"})

    assert environment.tools()["Read"]["distribution"] == "acme-files"
    assert environment.tools()["Read"]["partition"] == "third-party"
    assert environment.call("Read", who="this") == "Read otherwise: this"
    assert environment.pegboard("tools").stderr == ""


def test_a_repository_cannot_hand_a_name_to_somebody_else(environment: Environment) -> None:
    environment.plugin("acme-files", tool_source("Read"))
    folder = environment.work / ".pegboard"
    folder.mkdir()
    (folder / "settings.json").write_text('{"prefer": {"Read": "acme-files"}}')

    assert environment.tools()["Read"]["distribution"] == "pegboard-read"


def test_a_reserved_name_is_refused_even_where_the_built_in_is_not_installed(environment: Environment) -> None:
    environment.plugin("acme-shell", tool_source("Bash"))
    gone = environment.absent()["Bash"]

    assert "Bash" not in environment.tools()
    assert gone["layer"] == "conflict"
    assert gone["reason"].startswith("The name 'Bash' is reserved for pegboard-bash, and acme-shell claims it.")
    assert environment.plugins()["acme-shell:acme.shell"]["state"] == "conflict"


def test_a_reserved_name_stays_refused_while_the_built_in_is_switched_off(environment: Environment) -> None:
    environment.plugin("acme-files", tool_source("Read"))

    assert "Read" not in environment.tools(PEGBOARD_DISABLE="pegboard-read")


def test_of_two_strangers_neither_is_used_until_prefer_says_which(new_environment: MakeEnvironment) -> None:
    environment = new_environment()
    environment.plugin("acme-one", tool_source(prompt="one"))
    environment.plugin("acme-two", tool_source(prompt="two"))
    reason = environment.absent()["Hello"]["reason"]
    states = {row["distribution"]: row["state"] for row in environment.plugins().values() if row["tools"]}
    before = environment.prompts()
    environment.settings(prefer={"Hello": "acme-two"})

    assert before == {}
    assert states == {"acme-one": "conflict", "acme-two": "conflict"}
    assert reason.startswith("acme-one and acme-two both own the tool 'Hello'. Neither is used.")
    assert environment.prompts() == {"Hello": "two"}
    assert environment.plugins()["acme-two:acme.two"]["state"] == "active"


def test_an_alias_that_is_somebodys_name_is_taken_away_and_reported(environment: Environment) -> None:
    environment.plugin("acme-hello", tool_source(options='aliases=("Read", "Task", "Hi")'))
    done = environment.pegboard("tools", "--json")

    assert [row["aliases"] for row in json.loads(done.stdout) if row["name"] == "Hello"] == [["Hi"]]
    assert "The alias 'Read' of Hello is taken, so it is not used." in done.stderr
    assert "The alias 'Task' of Hello is taken, so it is not used." in done.stderr
    assert environment.call("Hi", who="you") == "Greet somebody. you"


def test_prefer_for_somebody_who_is_not_there_keeps_the_built_in_and_says_so(environment: Environment) -> None:
    environment.settings(prefer={"Read": "acme-gone"})
    done = environment.pegboard("tools", "--json")

    assert [row["distribution"] for row in json.loads(done.stdout)] == ["pegboard-read"]
    assert "prefer: acme-gone has no usable tool 'Read'." in done.stderr
