"""A stranger's tool: installed and it is there, uninstalled and it is gone; the built-in tools never notice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .venvs import Environment, build_wheel, tool_source, write_project, write_wheel


@pytest.fixture
def hello_wheel(tmp_path: Path, environment: Environment) -> Path:
    """A wheel built by its own build system, outside this repository."""
    build_wheel(write_project(tmp_path / "acme"), tmp_path / "dist", environment.supplies.cache)
    return tmp_path / "dist/acme_hello-1.0-py3-none-any.whl"


def test_an_installed_wheel_is_listed_as_third_party_and_uninstalling_removes_it(
    environment: Environment, hello_wheel: Path
) -> None:
    before = environment.tools()
    environment.install(hello_wheel)
    during = environment.tools()
    environment.uninstall("acme-hello")

    assert list(before) == ["Read"]
    assert list(during) == ["Read", "Hello"]
    hello = during["Hello"]
    assert (hello["partition"], hello["family"], hello["distribution"], hello["entry"], hello["version"]) == (
        "third-party",
        "acme",
        "acme-hello",
        "acme.hello",
        "1.0",
    )
    assert environment.tools() == before


def test_a_third_party_tool_runs_through_the_whole_pipeline(environment: Environment, hello_wheel: Path) -> None:
    environment.install(hello_wheel)

    assert environment.call("Hello", who="you") == "one you"


def test_a_tool_that_returns_bytes_in_a_model_can_be_called(environment: Environment) -> None:
    source = tool_source().replace("-> str:", "-> Drawing:").replace("class HelloInput", MODEL)
    source = re.sub(r"    return f.*", "    return Drawing(data=bytes([137, 255]))", source)
    files, entries = {"acme_hello.py": source}, {"acme.hello": "acme_hello"}
    environment.install(write_wheel(environment.wheels, "acme-hello", files, entries))
    assert environment.call("Hello", who="you") == '{"data":"if8="}'


MODEL = """from pydantic import BaseModel


class Drawing(BaseModel):
    data: bytes


class HelloInput"""


def test_built_in_bytes_are_the_same_with_and_without_strangers_under_twenty_hash_seeds(
    environment: Environment, hello_wheel: Path
) -> None:
    options = 'aliases=("A", "B", "C"), read_only=True'
    many = write_wheel(
        environment.wheels,
        "acme-many",
        {"acme_many.py": tool_source("Many", options=options)},
        {"acme.many": "acme_many"},
    )

    def request(seed: int) -> str:
        return environment.pegboard("tools", "--request", HOME="", PYTHONHASHSEED=str(seed)).stdout.strip()

    alone = request(0)
    environment.install(hello_wheel, many)
    together = {request(seed) for seed in range(20)}

    assert len(together) == 1
    (whole,) = together
    assert alone.startswith('[{"description"')
    assert whole.startswith(alone[:-1] + ",")


def test_a_plugin_in_a_namespace_package_is_found_and_its_file_is_checked(environment: Environment) -> None:
    files = {"acme/greetings/__init__.py": tool_source()}
    environment.install(write_wheel(environment.wheels, "acme-greetings", files, {"acme.hello": "acme.greetings"}))
    other = {"acme/partings/__init__.py": tool_source("Bye")}
    environment.install(write_wheel(environment.wheels, "acme-partings", other, {"acme.bye": "acme.partings"}))

    assert list(environment.tools()) == ["Read", "Bye", "Hello"]
    assert environment.call("Bye", who="you") == "Greet somebody. you"


def test_a_plugin_whose_files_are_links_into_an_installers_cache_is_found(environment: Environment) -> None:
    wheel = write_wheel(
        environment.wheels, "acme-hello", {"acme_hello.py": tool_source()}, {"acme.hello": "acme_hello"}
    )
    environment.install("--link-mode", "symlink", wheel)

    assert (environment.site / "acme_hello.py").is_symlink()
    assert "Hello" in environment.tools()


@pytest.mark.parametrize("layout", ["", "src/"])
def test_an_author_may_stand_in_the_folder_of_an_editable_plugin(
    environment: Environment, tmp_path: Path, layout: str
) -> None:
    project = write_project(tmp_path / "acme", layout=layout)
    environment.install("-e", project)
    place = project / layout

    assert "Hello" in environment.tools(cwd=place)
    done = environment.start(environment.python, "-m", "pegboard_cli", "call", "Hello", "who=you", cwd=place)
    assert done.stdout.strip() == "one you"
