"""A third party specifies hooks, another implements them: both in a real environment, checked as our own are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .venvs import Environment, tool_source, write_project, write_wheel

SPECIFICATION = '''
raise RuntimeError("a specification is read, never imported")


class DeployHooks:
    """The hooks of acme-deploy."""

    async def before_deploy(self, target: str, files: list[str]) -> str | None:
        """Refuse a deployment."""

    def deploy_targets(self) -> list[str]:
        """Bring targets."""

    def _note(self) -> None:
        """No hook."""
'''

HOST = """
import json
import anyio
from pegboard import Board

def failed(error, hook):
    return f"{hook} failed"

async def main():
    board = Board.load()
    targets = [target for bring in board.hooks.deploy_targets for target in bring()]
    answers = await board.hooks.ask("before_deploy", "production", ["a.py"], on_error=failed)
    print(json.dumps([targets, answers]))

anyio.run(main)
"""

CAREFUL = """
from pegboard import hookimpl

@hookimpl
async def before_deploy(files, target):
    return f"No {target} with {files} on a Friday."

@hookimpl
def deploy_targets():
    return ["staging"]
"""

HASTY = """
from pegboard import hookimpl

@hookimpl(priority=-1)
def before_deploy():
    raise ValueError("too fast")
"""


def specify(environment: Environment, source: str = SPECIFICATION, name: str = "acme-deploy", **entries: str) -> Path:
    module = name.replace("-", "_")
    files = {f"{module}/__init__.py": tool_source("Deploy"), f"{module}/hookspecs.py": source}
    specs = {"deploy": f"{module}.hookspecs:DeployHooks"}
    return write_wheel(environment.wheels, name, files, entries or {f"{module}.tool": module}, hookspecs=specs)


def implement(environment: Environment, source: str, name: str = "other-careful") -> Path:
    module = name.replace("-", "_")
    return write_wheel(environment.wheels, name, {f"{module}.py": source}, {f"other.{module}": module})


def states(environment: Environment) -> dict[str, tuple[str, str]]:
    return {row["distribution"]: (row["state"], row["kind"]) for row in environment.plugins().values()}


def test_a_host_calls_its_own_hooks_in_the_plugins_of_others(environment: Environment) -> None:
    hasty = implement(environment, HASTY, "other-hasty")
    environment.install(specify(environment), implement(environment, CAREFUL), hasty)

    targets, answers = json.loads(environment.code(HOST).stdout)

    assert targets == ["staging"]
    assert answers == [
        "before_deploy of other-hasty:other.other_hasty failed",
        "No production with ['a.py'] on a Friday.",
    ]
    assert set(states(environment).values()) == {("active", "")}


def test_the_index_knows_them_without_reading_the_source_again(environment: Environment) -> None:
    environment.install(specify(environment), implement(environment, CAREFUL))
    environment.code(HOST)  # Writes bytecode beside the modules, which the index would notice.
    environment.settle()
    environment.forget()
    environment.code(HOST)
    assert environment.indexes()
    (environment.site / "acme_deploy/hookspecs.py").write_text("not Python at all")  # No editable project is watched.

    assert json.loads(environment.code(HOST).stdout)[0] == ["staging"]


WRONG = {
    "a near miss": (
        CAREFUL.replace("before_deploy", "before_deplay"),
        "unknown-hook",
        "is not a hook. Did you mean 'before_deploy'?",
    ),
    "a parameter that is not offered": (
        CAREFUL.replace("files, target", "files, where"),
        "hook-signature",
        "asks for 'where'; before_deploy offers files, target.",
    ),
    "async where nothing is awaited": (
        CAREFUL.replace("def deploy_targets", "async def deploy_targets"),
        "async-hook",
        "is an async def, but deploy_targets is not awaited. Write a plain def.",
    ),
    "a wrapper": (
        CAREFUL.replace("@hookimpl\ndef", "@hookimpl(wrapper=True)\ndef").replace("return [", "yield ["),
        "hook-wrapper",
        "is a hook wrapper. Pegboard calls hooks one by one and has no wrappers.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_implementation_that_does_not_fit_is_in_quarantine(environment: Environment, case: str) -> None:
    source, kind, words = WRONG[case]
    environment.install(specify(environment), implement(environment, source))

    row = environment.plugins()["other-careful:other.other_careful"]

    assert (row["state"], row["kind"]) == ("quarantined", kind)
    assert words in row["reason"]
    assert "Deploy" in environment.tools()


def test_without_the_specification_it_is_unknown_unless_it_is_optional(environment: Environment) -> None:
    optional = CAREFUL.replace("@hookimpl", "@hookimpl(optionalhook=True)")
    environment.install(implement(environment, CAREFUL), implement(environment, optional, "other-optional"))
    found = states(environment)
    assert found["other-careful"] == ("quarantined", "unknown-hook")
    assert found["other-optional"] == ("active", "")

    environment.install(specify(environment))
    assert states(environment)["other-careful"] == ("active", "")
    targets, answers = json.loads(environment.code(HOST).stdout)
    assert (targets, len(answers)) == (["staging", "staging"], 2)

    environment.uninstall("acme-deploy")
    assert states(environment)["other-careful"] == ("quarantined", "unknown-hook")


def test_a_hook_of_ours_whose_distribution_is_absent_is_not_bound_and_that_is_said(environment: Environment) -> None:
    environment.uninstall("pegboard-session")
    source = tool_source() + "\n\n@hookimpl\ndef start_session(ctx):\n    return 'Welcome.'\n"
    environment.install(implement(environment, source))

    row = environment.plugins()["other-careful:other.other_careful"]

    assert (row["state"], row["hooks"]) == ("active", ["register_tools"])
    assert row["reason"] == (
        "Its hook start_session is never called: pegboard-session, which defines it, is not installed."
    )
    assert environment.call("Hello", who="you") == "Greet somebody. you"


TAKEN = {
    "one of the core": ("before_deploy", "check_permission", "the hook check_permission belongs to pegboard-core."),
    "one of a session": ("before_deploy", "submit_prompt", "the hook submit_prompt belongs to pegboard-session."),
    "a base class": ("DeployHooks:", "DeployHooks(dict):", "DeployHooks has a base class."),
    "another class": ("class DeployHooks", "class OtherHooks", "has no class 'DeployHooks' at its top level."),
    "no Python": ("class DeployHooks", "clas DeployHooks", "is not valid Python"),
    "a default": (
        "files: list[str])",
        "files: list[str] = [])",
        "the hook before_deploy may have plain parameters only",
    ),
    "no self": ("(self)", "()", "the first parameter of the hook deploy_targets must be self."),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", TAKEN)
def test_a_specification_that_cannot_be_used_is_named_with_its_file(environment: Environment, case: str) -> None:
    old, new, words = TAKEN[case]
    environment.install(specify(environment, SPECIFICATION.replace(old, new)))

    (row,) = [row for row in environment.plugins().values() if row["distribution"] == "acme-deploy"]
    assert (row["state"], row["kind"]) == ("quarantined", "bad-hooks")
    assert "acme_deploy/hookspecs.py" in row["reason"]
    assert words in row["reason"]
    assert words in environment.pegboard("doctor").stdout
    assert list(environment.tools()) == ["Read"]


def test_of_two_distributions_with_one_hook_the_first_keeps_it(environment: Environment) -> None:
    environment.install(specify(environment), specify(environment, name="zeta-deploy"))
    assert states(environment)["acme-deploy"] == ("active", "")
    row = environment.plugins()["zeta-deploy:zeta_deploy.tool"]
    assert "the hook before_deploy belongs to acme-deploy." in row["reason"]


def test_an_edit_of_an_editable_specification_is_seen(environment: Environment, tmp_path: Path) -> None:
    project = write_project(tmp_path / "acme")
    file = project / "src/acme_hello/hookspecs.py"
    file.write_text(SPECIFICATION)
    with (project / "pyproject.toml").open("a") as toml:
        toml.write('[project.entry-points."pegboard.hookspecs"]\ndeploy = "acme_hello.hookspecs:DeployHooks"\n')
    environment.install("-e", project)
    environment.install(implement(environment, CAREFUL))
    environment.settle(project)
    assert states(environment)["other-careful"] == ("active", "")

    file.write_text(SPECIFICATION.replace("deploy_targets", "deploy_places"))
    assert states(environment)["other-careful"] == ("quarantined", "unknown-hook")
