"""`pegboard build`: what was not chosen is not in the bundle, and nothing brings it in."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pluggy
import pytest

from pegboard_authors.bundle_contents import choose
from pegboard_authors.exit_codes import UsageError
from pegboard_authors.wheels import wheel_of

from .conftest import Share
from .sse import SseServer, message, text
from .venvs import tool_source, uv, write_wheel

FORBIDDEN = ("pegboard_bash", "pegboard_webfetch", "pegboard_agent", "mcp")
SPY = "import pathlib; pathlib.Path({canary!r}).touch()\n"


def build(output: Path, *words: str, home: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home or output.parent), "PYTHONHASHSEED": "random", **more}
    command = [sys.executable, "-m", "pegboard_cli", "build", *words, "-o", str(output)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def built(output: Path, *words: str, **more: str) -> Path:
    """Build, and keep what the command said in a file beside it."""
    done = build(output, *words, **more)
    assert done.returncode == 0, done.stderr
    said_of(output).write_text(done.stdout)
    return output


def said_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.txt")


@pytest.fixture(scope="session")
def bundle(share: Share) -> Path:
    folder = share("bundle", lambda folder: built(folder / "pegboard.pyz", "--families", "files,search"))
    return folder / "pegboard.pyz"


@pytest.fixture(scope="session")
def wheelhouse(share: Share) -> Path:
    words = ("--families", "files,search", "--format", "wheelhouse")
    return share("wheelhouse", lambda folder: built(folder / "wheels", *words)) / "wheels"


class Bundle:
    """A bundle in a place of its own: a home, a working directory, an interpreter with its own site-packages."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command, self.home, self.work = command, folder / "home", folder / "work"
        for place in (self.home, self.work):
            place.mkdir(parents=True, exist_ok=True)

    def start(self, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.base_prefix, 'bin')}{os.pathsep}/usr/bin:/bin"
        # Unpacked once for all tests: 90 MB, which take seconds.
        unpacked = Path(self.command[-1]).parent / "unpacked"
        env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "SHIV_ROOT": str(unpacked), **more}
        command = [*self.command, *map(str, words)]
        return subprocess.run(command, env=env, cwd=self.work, capture_output=True, text=True, check=False)

    def rows(self, *words: object, **more: str) -> list[dict[str, Any]]:
        done = self.start(*words, "--json", **more)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def tools(self, *words: str, **more: str) -> set[str]:
        return {row["name"] for row in self.rows("tools", *words, **more)}


@pytest.fixture
def running(bundle: Path, tmp_path: Path) -> Bundle:
    return Bundle([str(bundle)], tmp_path)


CHOSEN = {"Read", "Write", "Edit", "ApplyPatch", "NotebookEdit", "Grep", "Glob", "LSP"}


def test_what_was_not_chosen_is_not_in_the_file(bundle: Path) -> None:
    names = zipfile.ZipFile(bundle).namelist()
    tops = {name.split("/")[1] for name in names if name.startswith("site-packages/")}
    assert {"pegboard", "pegboard_read", "pegboard_grep", "pydantic_core", "pegboard_features.json"} <= tops
    assert not [top for top in tops if top.partition("-")[0] in FORBIDDEN]


def test_the_file_runs_alone_with_native_libraries_and_programs(running: Bundle) -> None:
    (running.work / "a.txt").write_text("alpha\n")
    usual = {"SHIV_ROOT": ""}
    assert running.tools(**usual) == CHOSEN
    assert (running.home / ".shiv").is_dir()
    assert running.start("call", "Read", "file_path=a.txt", **usual).stdout.startswith("1\talpha")
    assert "a.txt" in running.start("call", "Grep", "pattern=alpha", **usual).stdout


def test_the_file_starts_without_a_network(bundle: Path, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rn", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a process give up its network")
    assert Bundle(["unshare", "-rn", str(bundle)], tmp_path).tools() == CHOSEN


def test_features_say_that_the_choice_is_baked(running: Bundle) -> None:
    rows = {row["family"]: row for row in running.rows("features")}
    assert {family for family, row in rows.items() if row["state"] == "on"} == {
        "files",
        "search",
        "providers",
        "policy",
        "support",
    }
    assert (rows["shell"]["set_by"], rows["files"]["set_by"]) == ("baked", "baked")
    assert "shell      off    baked" in running.start("features").stdout


@pytest.mark.parametrize(
    "variables",
    [{"PEGBOARD_ONLY": "shell"}, {"PEGBOARD_ONLY": "shell,files"}, {"PEGBOARD_ONLY": "pegboard-bash,Bash,shell.bash"}],
    ids=lambda variables: variables["PEGBOARD_ONLY"],
)
def test_no_variable_brings_a_family_back(running: Bundle, variables: dict[str, str]) -> None:
    assert running.tools(**variables) <= CHOSEN
    assert {row["family"]: row["state"] for row in running.rows("features", **variables)}["shell"] == "off"


def test_no_option_brings_a_family_back(running: Bundle) -> None:
    assert running.tools("--only", "shell") == set()
    assert running.tools("--only", "shell,files") == {"Read", "Write", "Edit", "ApplyPatch", "NotebookEdit"}
    assert running.start("call", "Bash", "command=true", "--yes", "--only", "shell").returncode == 2


def test_the_choice_can_be_narrowed(running: Bundle) -> None:
    assert running.tools(PEGBOARD_DISABLE="search,Write") == {"Read", "Edit", "ApplyPatch", "NotebookEdit"}
    assert running.tools("--no-family", "files") == {"Grep", "Glob", "LSP"}


def test_no_settings_file_brings_a_family_back(running: Bundle) -> None:
    for folder in (running.home, running.work):
        (folder / ".pegboard").mkdir()
        (folder / ".pegboard/settings.json").write_text('{"only": ["shell", "files", "search"], "disable": []}')
    assert running.tools() == CHOSEN
    assert {row["family"]: row["state"] for row in running.rows("features")}["shell"] == "off"


def plugins_beside(folder: Path, site: Path) -> Path:
    """Install strangers beside a bundle: Bash itself, one that claims a chosen family, one of its own family.

    A provider is imported, because family switches are about tools; the tool it brings along must not be there.
    """
    canary = folder / "was-imported"
    strangers = {"pegboard-bash": "shell.bash", "acme-files": "files.evil", "acme-hello": "acme.hello"}
    for name, entry in strangers.items():
        module = name.replace("-", "_")
        source = SPY.format(canary=str(canary)) + tool_source("Bash" if name == "pegboard-bash" else "Evil")
        wheel = write_wheel(folder / "strangers", name, {f"{module}.py": source}, {entry: module})
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    wheel = write_wheel(
        folder / "strangers", "acme-model", {"acme_model.py": tool_source("Sneak")}, {"providers.acme": "acme_model"}
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return canary


def test_a_plugin_beside_the_file_is_not_loaded(bundle: Path, tmp_path: Path) -> None:
    uv("venv", "-p", sys.executable, tmp_path / "venv", cache=tmp_path / "cache")
    site = next((tmp_path / "venv/lib").glob("python3*/site-packages"))
    canary = plugins_beside(tmp_path, site)
    beside = Bundle([str(tmp_path / "venv/bin/python"), str(bundle)], tmp_path)
    assert beside.tools(PEGBOARD_ONLY="shell,files,acme") <= CHOSEN
    assert beside.tools() == CHOSEN
    states = {row["entry"]: row["state"] for row in beside.rows("plugins")}
    assert {states[entry] for entry in ("shell.bash", "files.evil", "acme.hello")} == {"disabled"}
    assert beside.start("call", "Bash", "who=me", "--yes").returncode == 2
    assert not canary.exists()


def test_the_file_does_not_listen_to_pythonpath(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "other/pegboard").mkdir(parents=True)
    (tmp_path / "other/pegboard/__init__.py").write_text("raise SystemExit('another pegboard')")
    assert Bundle([str(bundle)], tmp_path).tools(PYTHONPATH=str(tmp_path / "other")) == CHOSEN


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def contents(bundle: Path) -> list[tuple[str, int]]:
    return [(entry.filename, entry.CRC) for entry in zipfile.ZipFile(bundle).infolist()]


def test_two_builds_are_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "again.pyz", "--families", "search, files")
    assert contents(bundle) == contents(again)
    assert sha256(bundle) == sha256(again)


def hashes(folder: Path) -> list[tuple[str, str]]:
    return sorted((file.name, sha256(file)) for file in folder.iterdir())


@pytest.mark.skipif(os.environ.get("PEGBOARD_TEST_SLOW") != "1", reason="the long form of the test of one file")
def test_two_wheelhouses_are_the_same_bytes(wheelhouse: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "again", "--families", "search, files", "--format", "wheelhouse")
    assert hashes(wheelhouse) == hashes(again)


def test_a_wheelhouse_installs_offline_by_its_hashes_and_stays_closed(wheelhouse: Path, tmp_path: Path) -> None:
    venv, cache = tmp_path / "venv", tmp_path / "cache"
    uv("venv", "-p", sys.executable, venv, cache=cache)
    places = ["--no-index", "--find-links", wheelhouse, "--require-hashes", "-r", wheelhouse / "requirements.txt"]
    uv("pip", "install", "-p", venv / "bin/python", *places, cache=cache)
    canary = plugins_beside(tmp_path, next((venv / "lib").glob("python3*/site-packages")))
    installed = Bundle([str(venv / "bin/pegboard")], tmp_path)
    assert installed.tools() == CHOSEN
    assert installed.tools(PEGBOARD_ONLY="shell") == set()
    assert not canary.exists()


def test_the_wheel_of_the_choice_requires_the_whole_bundle(wheelhouse: Path) -> None:
    (features,) = wheelhouse.glob("pegboard_features-*.whl")
    with zipfile.ZipFile(features) as archive:
        metadata = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("METADATA"))
        only = json.loads(archive.read("pegboard_features.json"))["only"]
    assert metadata.count("Requires-Dist: ") == len(list(wheelhouse.glob("*.whl"))) - 1
    assert only == [
        f"pegboard-{name}" for name in ("edit", "glob", "grep", "lsp", "notebook", "patch", "read", "write")
    ]


def test_a_bundle_can_leave_out_single_plugins(tmp_path: Path) -> None:
    without = "Write,files.edit,policy.hooks"
    readers = built(tmp_path / "readers", "--families", "files", "--without", without, "--format", "wheelhouse")
    names = {wheel.name.split("-")[0] for wheel in readers.glob("*.whl")}
    assert "pegboard_read" in names
    assert names.isdisjoint({"pegboard_write", "pegboard_edit", "pegboard_hooks"})
    assert "Installed but left out: policy.hooks." in said_of(readers).read_text()


def test_guards_come_along(bundle: Path) -> None:
    said = said_of(bundle).read_text()
    assert "policy.hooks" in said
    assert "left out" not in said


def test_a_third_party_comes_in_by_name_and_with_what_it_requires(tmp_path: Path) -> None:
    source = tool_source("Hello").replace('f"Greet somebody. ', 'acme_words.SAID + f" ')
    source = f"import acme_words\n{source}"
    hello = write_wheel(
        tmp_path / "wheels", "acme-hello", {"acme_hello.py": source}, {"acme.hello": "acme_hello"}, ["acme-words"]
    )
    words = write_wheel(tmp_path / "wheels", "acme-words", {"acme_words.py": "SAID = 'Good day'\n"}, {})
    for wheel in (hello, words):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "site")
    file = built(
        tmp_path / "with.pyz", "--families", "search", "--with", "acme-hello", PYTHONPATH=str(tmp_path / "site")
    )
    bundle = Bundle([str(file)], tmp_path)
    assert bundle.tools() == {"Grep", "Glob", "LSP", "Hello"}
    assert bundle.start("call", "Hello", "who=Ada").stdout == "Good day Ada\n"
    assert {row["family"] for row in bundle.rows("features") if row["state"] == "on"} >= {"search", "acme"}


def test_providers_come_along_unless_they_are_left_out() -> None:
    chosen = choose(["files"])
    assert {"pegboard-anthropic", "anthropic"} <= {dist.metadata["Name"] for dist in chosen.distributions}
    assert "pegboard-anthropic" not in chosen.baked["only"]
    assert chosen.left_out == []
    without = choose(["files"], without=["providers"])
    assert not {"pegboard-anthropic", "anthropic"} & {dist.metadata["Name"] for dist in without.distributions}
    assert without.left_out == ["providers.anthropic", "providers.openai"]


def test_the_file_can_ask_a_model(running: Bundle) -> None:
    silent = running.start("run", "Good morning")
    assert (silent.returncode, "ANTHROPIC_API_KEY is not set." in silent.stderr) == (5, True)
    with SseServer([message(text("Good evening."))]) as server:
        asked = running.start("run", "Good morning", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url)
    assert (asked.returncode, asked.stdout.strip()) == (0, "Good evening."), asked.stderr


REFUSED = {
    "a misspelt family": (["--families", "fils"], "There is no family 'fils'. Did you mean 'files'?"),
    "a family without tools": (["--families", "policy"], "The family policy has no tools."),
    "a family that does not exist": (["--families", "robots"], "There is no family 'robots'."),
    "a distribution that is not installed": (
        ["--families", "files", "--with", "acme-nothing"],
        "acme-nothing is not installed.",
    ),
    "a word that names nothing": (
        ["--families", "files", "--without", "Wrte"],
        "--without Wrte: there is no such family, plugin, distribution or tool.",
    ),
    "everything left out": (["--families", "search", "--without", "search"], "There is nothing to build"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_choice_that_means_nothing_is_refused(case: str, tmp_path: Path) -> None:
    words, reason = REFUSED[case]
    done = build(tmp_path / "out.pyz", *words)
    assert (done.returncode, (tmp_path / "out.pyz").exists()) == (2, False)
    assert reason in done.stderr


def test_no_family_at_all_is_refused(tmp_path: Path) -> None:
    done = build(tmp_path / "out.pyz", "--families", ",")
    assert (done.returncode, "There is nothing to build" in done.stderr) == (2, True)


UNWRITABLE = {
    "a folder that is not there": ("none/out.pyz", "shiv", "There is no folder "),
    "a folder": (".", "shiv", "is a folder. Give the name of a file, such as pegboard.pyz."),
    "a file": ("taken", "wheelhouse", "exists and is not an empty folder."),
    "a device": ("/dev/full", "shiv", "/dev/full is neither a file nor a folder."),
    "a place that takes no files": ("/proc/out.pyz", "shiv", "/proc/out.pyz cannot be written: "),
    "a place that takes no folders": ("/proc/house", "wheelhouse", "/proc/house cannot be written: "),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_an_output_that_cannot_be_written_is_refused(case: str, tmp_path: Path) -> None:
    name, kind, reason = UNWRITABLE[case]
    (tmp_path / "taken").write_text("mine")
    done = build(tmp_path / name, "--families", "search", "--format", kind, home=tmp_path)
    assert (done.returncode, reason in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == ["taken"]


@pytest.mark.parametrize("date", ["yesterday", "-1", "99999999999999"])
def test_a_date_that_no_zip_file_can_hold_is_refused(date: str, tmp_path: Path) -> None:
    done = build(tmp_path / "out.pyz", "--families", "search", SOURCE_DATE_EPOCH=date)
    assert done.returncode == 2
    assert (
        f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, before the year 2108, but it is {date!r}."
    ) in done.stderr


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("shiv", "shiv, which writes the file, is not installed. Install it with pip install shiv."),
        ("hatchling", "Backend 'hatchling.build' is not available. Install its build requirements."),
    ],
)
def test_a_builder_that_is_missing_is_named(missing: str, reason: str, tmp_path: Path) -> None:
    hide = f"import sys; sys.modules[{missing!r}] = None\n"
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/sitecustomize.py").write_text(hide)
    done = build(tmp_path / "out.pyz", "--families", "search", PYTHONPATH=str(tmp_path / "hidden"))
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr


def test_a_wheelhouse_is_not_mixed_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house/mine.whl").touch()
    done = build(tmp_path / "house", "--families", "files", "--format", "wheelhouse")
    assert (done.returncode, os.listdir(tmp_path / "house")) == (2, ["mine.whl"])


def test_a_wheel_is_put_together_again_from_an_installation(tmp_path: Path) -> None:
    wheel = wheel_of(distribution("pluggy"), tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("pluggy/_hooks.py") == Path(pluggy.__file__).with_name("_hooks.py").read_bytes()
        assert not [name for name in archive.namelist() if name.endswith((".pyc", "INSTALLER", "direct_url.json"))]
    assert wheel.name == f"pluggy-{distribution('pluggy').version}-py3-none-any.whl"


def test_a_file_that_was_changed_after_installation_is_not_shipped(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, "acme-hello", {"acme_hello.py": "x = 1\n"}, {"acme.hello": "acme_hello"})
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "site/acme_hello.py").write_text("x = 2\n")
    (tmp_path / "out").mkdir()
    dist = Distribution.at(tmp_path / "site/acme_hello-1.0.dist-info")
    with pytest.raises(UsageError, match=r"acme-hello was changed after it was installed: .*acme_hello\.py"):
        wheel_of(dist, tmp_path / "out")


def test_a_program_can_still_be_executed_after_its_way_through_a_wheel(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        assert archive.getinfo("site-packages/bin/rg").external_attr >> 16 & 0o111
