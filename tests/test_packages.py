"""Every distribution builds alone and ships what it promises."""

import email
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from pegboard.plugins.builtin import PLUGINS

ROOT = Path(__file__).parent.parent
PROJECTS = [ROOT, ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/*/pyproject.toml"))]
DISTRIBUTIONS = PROJECTS[1:]


def metadata(project):
    return tomllib.loads((project / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source archive of a project, built on first use."""
    folder, made = tmp_path_factory.mktemp("dist"), {}

    def build(project):
        if project not in made:
            out = folder / metadata(project)["name"]
            command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
            subprocess.run(command, cwd=project, check=True, capture_output=True)
            made[project] = (next(out.glob("*.whl")), next(out.glob("*.tar.gz")))
        return made[project]

    return build


@pytest.mark.sample(3)
@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_a_project_builds_alone_with_its_licence_and_readme(project, built):
    wheel, source = built(project)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [found] = [name for name in names if name.endswith(".dist-info/METADATA")]
        about = email.message_from_bytes(archive.read(found))
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    assert about.get_payload().strip()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("tests/" in name for name in names if "/template/" not in name)  # What authors get has tests.
    with tarfile.open(source) as archive:
        assert not [name for name in archive.getnames() if "/.venv/" in name or "/.uv/" in name]


@pytest.mark.sample(3)
@pytest.mark.parametrize("project", DISTRIBUTIONS, ids=lambda path: path.name)
def test_a_distribution_is_typed(project, built):
    with zipfile.ZipFile(built(project)[0]) as archive:
        assert any(name.endswith("/py.typed") for name in archive.namelist())


@pytest.mark.parametrize("project", DISTRIBUTIONS, ids=lambda path: path.name)
def test_our_plugins_are_in_the_table_of_built_ins_and_name_their_api(project):
    data = metadata(project)
    entries = data.get("entry-points", {})
    for entry, value in entries.get("pegboard", {}).items():
        assert (data["name"], entry) in PLUGINS
        assert entries["pegboard.requires_api"] == {"1.0": value}


@pytest.mark.parametrize("project", DISTRIBUTIONS, ids=lambda path: path.name)
def test_every_dependency_has_a_range_with_an_upper_end(project):
    for requirement in metadata(project).get("dependencies", []):
        assert "<" in requirement or "==" in requirement, requirement


@pytest.mark.parametrize("project", [path for path in DISTRIBUTIONS if path.name != "core"], ids=lambda path: path.name)
def test_the_workspace_knows_every_plugin(project):
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert root["tool"]["uv"]["sources"][metadata(project)["name"]] == {"workspace": True}


def test_the_core_depends_on_nothing_heavy():
    names = {requirement.split(">")[0] for requirement in metadata(ROOT / "core")["dependencies"]}
    assert names == {"anyio", "pegboard-settings", "pluggy", "pydantic", "typing-extensions"}
    assert metadata(ROOT / "plugins/support/settings")["dependencies"] == ["rapidfuzz>=3.10,<4"]


def test_no_file_of_the_repository_names_a_registry_or_is_a_lock():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("this is not a checkout")
    assert "uv.lock" not in tracked
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
    assert all(pin.count("==") == 1 for pin in pins)
