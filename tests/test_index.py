"""The index is right after every way an environment can change, and absent where it cannot be trusted."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from virtualenv.seed.wheels.embed import get_embed_wheel

from .conftest import MakeEnvironment
from .venvs import Environment, run, tool_source, write_project, write_wheel

HEAVY = {"pydantic", "pluggy", "rich", "importlib.metadata", "dataclasses", "typing", "pathlib"}
MODULES = "import sys; from pegboard_cli.main import main; main(sys.argv[1:]); print(*sys.modules)"


@pytest.fixture
def bare(new_environment: MakeEnvironment) -> Environment:
    """An environment without any tool."""
    return new_environment()


def warm(environment: Environment, *sources: Path) -> None:
    """Let everything settle, so that the next listing finds an index. The first import adds `__pycache__` folders."""
    environment.prompts()
    environment.settle(*sources)
    environment.prompts()
    assert environment.indexes()
    assert "importlib.metadata" not in modules(environment)


def modules(environment: Environment, *words: str, **variables: str) -> set[str]:
    """The modules that a listing loads in a process of its own, started like the installed script."""
    source = f"import sys; sys.path[0] = {str(environment.bin)!r}; {MODULES.removeprefix('import sys; ')}"
    done = environment.start(environment.python, "-c", source, *(words or ("tools", "--json")), **variables)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


class WithUv:
    """How uv changes an environment."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def install(self, *what: object, again: bool = False) -> None:
        """Install from a source tree."""
        self.environment.install(*(("--reinstall",) if again else ()), *what)

    def uninstall(self) -> None:
        """Take it out."""
        self.environment.uninstall("acme-hello")


class WithPip:
    """How pip does; it is run from the wheel that virtualenv carries, so nothing has to be fetched."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        wheel = get_embed_wheel("pip", f"{sys.version_info.major}.{sys.version_info.minor}")
        assert wheel is not None
        self.pip = [environment.python, wheel.path / "pip"]

    def install(self, *what: object, again: bool = False) -> None:
        """Install from a source tree."""
        how = ["--no-index", "--no-deps", "--no-build-isolation", *(["--force-reinstall"] if again else [])]
        self._run("install", *how, *what)

    def uninstall(self) -> None:
        """Take it out."""
        self._run("uninstall", "-y", "acme-hello")

    def _run(self, *words: object) -> None:
        quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
        builders = str(self.environment.supplies.builders)
        run(*self.pip, *words, env=self.environment.variables(PYTHONPATH=builders, **quiet))


INSTALLERS: dict[str, Callable[[Environment], Any]] = {"uv": WithUv, "pip": WithPip}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_install_upgrade_reinstall_and_uninstall_are_seen_at_once(
    bare: Environment, tmp_path: Path, installer: str
) -> None:
    change = INSTALLERS[installer](bare)
    project = tmp_path / "acme"
    warm(bare)
    assert bare.prompts() == {}

    change.install(write_project(project, version="1.0", prompt="one"))
    assert bare.prompts() == {"Hello": "one"}
    warm(bare)
    assert bare.prompts() == {"Hello": "one"}

    change.install(write_project(project, version="1.1", prompt="two"))
    assert bare.prompts() == {"Hello": "two"}
    warm(bare)

    change.install(write_project(project, version="1.1", prompt="three"), again=True)
    assert bare.prompts() == {"Hello": "three"}, "the same version again"
    warm(bare)

    change.uninstall()
    assert bare.prompts() == {}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_an_editable_install_its_edits_and_its_end_are_seen_at_once(
    bare: Environment, tmp_path: Path, installer: str
) -> None:
    change = INSTALLERS[installer](bare)
    project = write_project(tmp_path / "acme", prompt="three")
    warm(bare)

    change.install("-e", project)
    assert bare.prompts() == {"Hello": "three"}
    warm(bare, project)

    write_project(project, prompt="four")
    assert bare.prompts() == {"Hello": "four"}
    warm(bare, project)

    change.uninstall()
    assert bare.prompts() == {}


def test_an_editable_plugin_that_was_broken_is_back_as_soon_as_it_is_repaired(
    bare: Environment, tmp_path: Path
) -> None:
    project = write_project(tmp_path / "acme")
    source = project / "src/acme_hello/hello.py"
    source.write_text("syntax error")
    bare.install("-e", project)
    warm(bare, project)
    assert bare.plugins()["acme-hello:acme.hello"]["kind"] == "import-error"

    source.write_text(tool_source(prompt="whole again"))

    assert bare.prompts() == {"Hello": "whole again"}


@pytest.fixture
def extra(bare: Environment, tmp_path: Path) -> Path:
    """A folder that holds an installed plugin and can be put on PYTHONPATH."""
    files = {"acme_hello/__init__.py": tool_source(prompt="four")}
    wheel = write_wheel(bare.wheels, "acme-hello", files, {"acme.hello": "acme_hello"})
    bare.install("--target", tmp_path / "extra", wheel)
    return tmp_path / "extra"


def test_pythonpath_switches_a_plugin_on_and_off(bare: Environment, extra: Path) -> None:
    bare.settle(extra)

    assert bare.prompts(PYTHONPATH=str(extra)) == {"Hello": "four"}
    assert bare.prompts() == {}
    assert bare.prompts(PYTHONPATH=str(extra)) == {"Hello": "four"}


def test_a_plugin_that_lies_in_the_working_directory_is_not_found(bare: Environment, extra: Path) -> None:
    found = subprocess.run(
        [bare.python, "-c", "from pegboard_cli.main import main; main(['tools', '--request'])"],
        env=bare.variables(),
        cwd=extra,
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout == "[]\n"


@pytest.mark.parametrize("damage", ["corrupted", "empty", "cut", "foreign", "one word"])
def test_a_damaged_index_is_made_anew(bare: Environment, extra: Path, damage: str) -> None:
    bare.settle(extra)
    bare.prompts(PYTHONPATH=str(extra))
    (file,) = bare.indexes()
    whole = file.read_bytes()
    damaged = {
        "corrupted": whole[:-9] + b"corrupted",
        "empty": b"",
        "cut": whole[:-9],
        "foreign": b"hello",
        "one word": whole.replace(b'"four"', b'"fore"'),
    }
    file.write_bytes(damaged[damage])

    assert bare.prompts(PYTHONPATH=str(extra)) == {"Hello": "four"}
    assert b'"four"' in bare.indexes()[0].read_bytes(), "a whole index replaces it"


def test_twelve_processes_at_once_agree_and_leave_no_litter(bare: Environment, extra: Path) -> None:
    bare.settle(extra)
    command = [bare.bin / "pegboard", "tools", "--request"]
    env = bare.variables(PYTHONPATH=str(extra))
    running = [subprocess.Popen(command, env=env, cwd=bare.work, stdout=subprocess.PIPE) for _ in range(12)]
    said = {process.communicate()[0] for process in running}

    assert len(said) == 1
    assert b'"four"' in said.pop()
    assert [file.suffix for file in bare.indexes()] == [""]


@pytest.mark.parametrize("variables", [{"HOME": "/nonexistent/ro"}, {"HOME": ""}, {"XDG_CACHE_HOME": "x"}])
def test_without_a_place_for_the_index_listing_works_all_the_same(bare: Environment, variables: dict[str, str]) -> None:
    bare.plugin("acme-hello", tool_source(prompt="one"))
    bare.settle()

    assert bare.prompts(**variables) == {"Hello": "one"}
    assert bare.indexes() == []
    assert list(bare.work.iterdir()) == []


def test_an_install_is_seen_where_all_dates_are_levelled(bare: Environment) -> None:
    os.utime(bare.site, (1, 1))
    bare.settle()
    os.utime(bare.site, (1, 1))
    bare.prompts()
    assert bare.indexes()

    bare.plugin("acme-hello", tool_source(prompt="five"))
    os.utime(bare.site, (1, 1))

    assert bare.prompts() == {"Hello": "five"}


def test_an_index_is_not_kept_while_what_it_rests_on_is_younger_than_the_clock_can_tell(bare: Environment) -> None:
    bare.plugin("acme-hello", tool_source())
    later = time.time() + 60  # As if the next command came at once, on a machine of any speed.
    os.utime(bare.site, (later, later))
    bare.prompts()

    assert bare.indexes() == []


def test_the_index_and_its_folder_are_private(bare: Environment) -> None:
    warm(bare)
    (file,) = bare.indexes()

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_index_that_others_may_write_is_not_used(bare: Environment, mode: int) -> None:
    bare.plugin("acme-hello", tool_source(prompt="true"))
    warm(bare)
    (file,) = bare.indexes()
    known = marshal.loads(file.read_bytes()[4:])
    (record,) = next(plugin for plugin in known["plugins"] if plugin["dist"] == "acme-hello")["scan"]["tools"]
    record["definition"] = record["definition"].replace(b'"true"', b'"forged"')
    body = marshal.dumps(known)
    file.write_bytes(zlib.crc32(body).to_bytes(4, "little") + body)
    as_it_was = bare.prompts()
    file.chmod(mode)

    assert as_it_was == {"Hello": "forged"}, "the forgery is good enough to be read"
    assert bare.prompts() == {"Hello": "true"}


def test_a_definition_that_differs_after_import_drops_the_index(bare: Environment) -> None:
    bare.plugin("acme-hello", tool_source(prompt="one"))
    warm(bare)
    (bare.site / "acme_hello/__init__.py").write_text(tool_source(prompt="edited in place"))

    assert bare.call("Hello", who="you") == "edited in place you"
    assert bare.prompts() == {"Hello": "edited in place"}


def test_a_family_enabled_later_is_scanned_without_scanning_the_rest_again(environment: Environment) -> None:
    environment.plugin("acme-hello", tool_source())
    environment.settle()
    assert list(environment.tools(PEGBOARD_DISABLE="acme")) == ["Read"]
    assert environment.indexes()

    loaded = modules(environment)

    assert "acme_hello" in loaded
    assert "pegboard_read" not in loaded
    assert list(environment.tools()) == ["Read", "Hello"]
    assert "acme_hello" not in modules(environment)


@pytest.mark.parametrize("words", [("tools", "--json"), ("tools", "--request"), ("plugins", "--json")])
def test_a_warm_listing_loads_nothing_heavy(environment: Environment, words: tuple[str, ...]) -> None:
    environment.plugin("acme-hello", tool_source())
    warm(environment)
    at_start = set(environment.code("import sys; print(*sys.modules)").stdout.split())

    loaded = modules(environment, *words)

    assert "pegboard.plugins.index" in loaded
    assert (loaded - at_start) & HEAVY == set()


def test_a_warm_listing_stays_light_with_settings_and_quarantined_plugins(environment: Environment) -> None:
    environment.plugin("acme-hello", tool_source())
    environment.plugin("acme-broken", "1 / 0")
    environment.settings(disable=["acme.hello"], permissions={"deny": ["WebFetch"]})
    warm(environment, environment.site / "acme_broken")
    at_start = set(environment.code("import sys; print(*sys.modules)").stdout.split())

    assert (modules(environment, "plugins", "--json") - at_start) & HEAVY == set()


def test_the_index_of_one_environment_is_not_taken_for_anothers(new_environment: MakeEnvironment) -> None:
    one, two = new_environment(name="one"), new_environment(name="two")
    one.plugin("acme-hello", tool_source(prompt="one"))
    for environment in (one, two):
        environment.settle()

    assert one.prompts(HOME=str(one.home)) == {"Hello": "one"}
    assert two.prompts(HOME=str(one.home)) == {}
    assert len(one.indexes()) == 2
