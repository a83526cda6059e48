"""Standing in a hostile clone: a folder that poses as an installed plugin is never imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from .venvs import Environment, Supplies, tool_source

MAIN = "import sys; from pegboard_cli.main import main; sys.exit(main(sys.argv[1:]))"
BOARD = "import json; from pegboard import Board; print(json.dumps(Board.load().pool.names))"
TRAP = "from pathlib import Path\nPath(__file__).with_name('sprung').touch()\n"


@pytest.fixture(scope="module")
def shared(supplies: Supplies, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with a third party's tool."""
    made = Environment(tmp_path_factory.mktemp("victim") / "environment", supplies, "pegboard-read")
    made.plugin("acme-hello", tool_source())
    return made


@pytest.fixture
def environment(shared: Environment) -> Environment:
    """The shared environment with an empty index: everything is imported anew."""
    shared.forget()
    return shared


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with modules named like an installed plugin, its libraries and a plugin of its own."""
    folder = tmp_path / "clone"
    for name in ("acme_hello", "pegboard_read", "evil", "pluggy", "rapidfuzz"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(TRAP)
    info = folder / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nacme.evil = evil\n[pegboard.commands]\nevil = evil:run\n")
    return folder


def sprung(clone: Path) -> list[str]:
    """The modules of the clone that were imported."""
    return [path.parent.name for path in clone.rglob("sprung")]


def ways(environment: Environment) -> dict[str, list[str]]:
    """Every way to start Pegboard."""
    python = str(environment.python)
    return {
        "script": [str(environment.bin / "pegboard")],
        "python -m": [python, "-m", "pegboard_cli"],
        "python -c": [python, "-c", MAIN],
    }


@pytest.mark.parametrize("way", ["script", "python -m", "python -c"])
@pytest.mark.parametrize("path", ["", ":", "."])
def test_a_clone_can_neither_shadow_an_installed_plugin_nor_add_one(
    environment: Environment, clone: Path, way: str, path: str
) -> None:
    given = {"PYTHONPATH": path} if path else {}
    start = ways(environment)[way]

    called = environment.start(*start, "call", "Hello", "who=you", "--yes", cwd=clone, **given)
    listed = environment.start(*start, "plugins", "--json", cwd=clone, **given)

    assert called.stdout.strip() == "Greet somebody. you"
    assert "evil" not in listed.stdout
    assert '"active"' in listed.stdout
    assert sprung(clone) == []


def test_a_clone_under_another_name_on_the_path_is_seen_through(
    environment: Environment, clone: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(clone)
    without_libraries(clone)

    done = environment.pegboard("call", "Hello", "who=you", "--yes", cwd=clone, PYTHONPATH=str(tmp_path / "link"))

    assert done.stdout.strip() == "Greet somebody. you"
    assert sprung(clone) == []


def test_a_board_built_under_python_c_takes_its_plugins_from_where_they_are_installed(
    environment: Environment, clone: Path
) -> None:
    without_libraries(clone)

    done = environment.start(environment.python, "-c", BOARD, cwd=clone)

    assert done.stdout.strip() == '["Read", "Hello"]'
    assert sprung(clone) == []


def without_libraries(clone: Path) -> None:
    """Leave only what poses as a plugin: what an embedder imports by itself is the embedder's own affair."""
    for library in ("pluggy", "rapidfuzz"):
        (clone / library / "__init__.py").unlink()
        (clone / library).rmdir()


def test_a_module_from_elsewhere_on_the_path_is_refused_before_it_runs(environment: Environment, clone: Path) -> None:
    without_libraries(clone)

    row = environment.plugins(PYTHONPATH=str(clone))["acme-hello:acme.hello"]

    assert (row["state"], row["kind"]) == ("quarantined", "foreign-module")
    where = clone / "acme_hello/__init__.py"
    assert row["reason"] == f"The module 'acme_hello' would come from {where}, which is not part of acme-hello."
    assert not where.with_name("sprung").exists()
