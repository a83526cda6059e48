"""Real virtual environments with Pegboard installed from wheels. Nothing here needs a package index."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parent.parent
OURS = (
    *("core", "plugins/host/cli", "plugins/host/session", "plugins/files/read", "plugins/policy/rules"),
    *("plugins/support/files", "plugins/support/hosts", "plugins/support/processes", "plugins/support/trust"),
    "plugins/support/settings",
)
USUAL = (
    *("pegboard-core", "pegboard-cli", "pegboard-session", "pegboard-rules"),
    *("pegboard-files", "pegboard-hosts", "pegboard-processes", "pegboard-settings", "pegboard-trust"),
)
SETTLED_SECONDS = 10
"""How far dates are set back, so that an index may be kept at once instead of after two seconds."""

TOOL = '''
from pegboard import Context, Input, hookimpl, tool


class {name}Input(Input):
    who: str
    """Whom to greet."""


@tool({options})
def {name}(args: {name}Input, ctx: Context) -> str:
    """{prompt}"""
    return f"{prompt} {{args.who}}"


@hookimpl
def register_tools():
    return [{name}]
'''


def tool_source(
    name: str = "Hello", prompt: str = "Greet somebody.", options: str = "read_only=True, open_world=False"
) -> str:
    """The source of a plugin with one tool."""
    return TOOL.format(name=name, prompt=prompt, options=options)


def run(*words: object, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; a failure shows what it said."""
    done = subprocess.run([str(word) for word in words], env=env, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{words} failed:\n{done.stdout}\n{done.stderr}"
    return done


def uv(*words: object, cache: Path, **variables: str) -> None:
    """Run uv without a network, a configuration, or the user's cache."""
    program = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program, "uv is in the dev dependency group; install it to run these tests"
    fixed = {"UV_CACHE_DIR": str(cache), "UV_OFFLINE": "1", "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
    run(program, *words, "--quiet", env={"PATH": os.environ["PATH"], "HOME": str(cache), **fixed, **variables})


def link_distributions(names: Iterable[str], folder: Path) -> Path:
    """A folder with links to installed distributions and all they require: nothing has to be fetched."""
    folder.mkdir(parents=True)
    waiting, seen = list(names), set[str]()
    while waiting:
        dist = distribution(waiting.pop())
        name = re.sub(r"[-_.]+", "-", dist.metadata["Name"]).lower()
        if name in seen:
            continue
        seen.add(name)
        wanted = [Requirement(text) for text in dist.requires or ()]
        waiting += [need.name for need in wanted if need.marker is None or need.marker.evaluate({"extra": ""})]
        if name.startswith("pegboard"):
            continue
        tops = {file.parts[0] for file in dist.files or ()} - {"..", "__pycache__"}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(dist.locate_file(top))))
    return folder


def build_wheel(project: Path, wheelhouse: Path, cache: Path) -> None:
    """Build a project with its own build system, from what is installed here."""
    uv("build", "--wheel", "--no-build-isolation", "-p", sys.executable, project, "-o", wheelhouse, cache=cache)


def write_wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    entries: Mapping[str, str],
    requires: Iterable[str] = (),
    *,
    version: str = "1.0",
    api: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
    hookspecs: Mapping[str, str] | None = None,
) -> Path:
    """A wheel, written by hand: quicker than a build system where dozens are needed, and as real."""
    stem = f"{name.replace('-', '_')}-{version}"
    sections = {"pegboard": entries, "pegboard.requires_api": api or {}, "pegboard.settings": settings or {}}
    sections |= {"pegboard.commands": commands or {}, "pegboard.hookspecs": hookspecs or {}}
    points = "".join(
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in items.items()) for group, items in sections.items()
    )
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    whole = {
        **files,
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": points,
    }
    record = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in whole.items()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in whole.items():
            archive.writestr(inner, text)
        archive.writestr(f"{stem}.dist-info/RECORD", "\n".join([*record, f"{stem}.dist-info/RECORD,,\n"]))
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def write_project(folder: Path, *, version: str = "1.0", prompt: str = "one", layout: str = "src/") -> Path:
    """The source tree of a third party's plugin, as an author would keep it."""
    package = folder / f"{layout}acme_hello"
    package.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        f'[project]\nname = "acme-hello"\nversion = "{version}"\nrequires-python = ">=3.11"\n'
        '[project.entry-points.pegboard]\n"acme.hello" = "acme_hello"\n'
    )
    (package / "__init__.py").write_text("from acme_hello.hello import register_tools\n")
    (package / "hello.py").write_text(tool_source(prompt=prompt))
    return folder


class Supplies:
    """What every environment is made from; made once for a test session."""

    def __init__(self, folder: Path) -> None:
        self.wheelhouse, self.cache = folder / "wheelhouse", folder / "uv-cache"
        self.libraries, self.builders = folder / "libraries", folder / "builders"

    def make(self) -> None:
        """Build our wheels and link the libraries they need."""
        link_distributions(["pegboard-core"], self.libraries)
        link_distributions(["hatchling", "editables"], self.builders)
        (self.libraries / "__pycache__").mkdir()  # Made by the first import otherwise, which changes the folder's date.
        os.utime(self.libraries, (1, 1))
        for project in OURS:
            build_wheel(REPOSITORY / project, self.wheelhouse, self.cache)
        self._set_back_unpacked()

    def _set_back_unpacked(self) -> None:
        """Unpack the wheels now and set their dates back: environments share these files, and indexes see the dates."""
        first = self.wheelhouse.with_name("first")
        places = ["--no-index", "--no-deps", "--find-links", self.wheelhouse, "--target", first]
        names = [wheel.name.partition("-")[0] for wheel in self.wheelhouse.glob("*.whl")]
        uv("pip", "install", "-p", sys.executable, *places, *names, cache=self.cache)
        then = time.time() - SETTLED_SECONDS
        for file in (path for path in first.rglob("*") if path.is_file()):
            os.utime(file, (then, then))


class Environment:
    """A virtual environment, with a home and a working directory of its own."""

    def __init__(self, folder: Path, supplies: Supplies, *ours: str, usual: Iterable[str] = USUAL) -> None:
        self.folder, self.supplies = folder, supplies
        self.home, self.work, self.wheels = folder / "home", folder / "work", folder / "wheels"
        for place in (self.home, self.work):
            place.mkdir(parents=True)
        self.uv("venv", "-p", sys.executable, folder / "venv")
        self.bin = folder / "venv/bin"
        self.python = self.bin / "python"
        self.site = next((folder / "venv/lib").glob("python3*/site-packages"))
        (self.site / "libraries.pth").write_text(f"{supplies.libraries}\n")
        self.install(*usual, *ours)

    def uv(self, *words: object, **variables: str) -> None:
        """Run uv with this session's cache."""
        uv(*words, cache=self.supplies.cache, **variables)

    def install(self, *what: object) -> None:
        """Install by name from the wheelhouse, or by path."""
        places = ["--no-index", "--no-deps", "--find-links", self.supplies.wheelhouse]
        building = {"PYTHONPATH": str(self.supplies.builders)}
        self.uv("pip", "install", "-p", self.python, "--no-build-isolation", *places, *what, **building)

    def uninstall(self, name: str) -> None:
        """Take a distribution out again."""
        self.uv("pip", "uninstall", "-p", self.python, name)

    def plugin(self, name: str, source: str, entries: Mapping[str, str] | None = None, **more: Any) -> None:
        """Install a plugin of one module; the module has the distribution's name."""
        module = name.replace("-", "_")
        entries = {f"acme.{name.removeprefix('acme-')}": module} if entries is None else entries
        self.install(write_wheel(self.wheels, name, {f"{module}/__init__.py": source}, entries, **more))

    def variables(self, **more: str) -> dict[str, str]:
        """A small, known environment: nothing of the person who runs the tests leaks in."""
        return {"PATH": f"{self.bin}{os.pathsep}/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    def start(self, *words: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment, whatever comes of it."""
        program = [str(word) for word in words]
        env = self.variables(**variables)
        return subprocess.run(program, env=env, cwd=cwd or self.work, capture_output=True, text=True, check=False)

    def pegboard(self, *words: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command."""
        return self.start(self.bin / "pegboard", *words, cwd=cwd, **variables)

    def code(self, source: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python code in this environment."""
        done = self.start(self.python, "-c", source, cwd=None, **variables)
        assert done.returncode == 0, done.stderr
        return done

    def listing(self, *words: object, cwd: Path | None = None, **variables: str) -> list[dict[str, Any]]:
        """The rows of a listing command; it must end well and print nothing but JSON."""
        done = self.pegboard(*words, "--json", cwd=cwd, **variables)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    def tools(self, *words: object, cwd: Path | None = None, **variables: str) -> dict[str, dict[str, Any]]:
        """The active tools by name."""
        return {row["name"]: row for row in self.listing("tools", *words, cwd=cwd, **variables)}

    def absent(self, **variables: str) -> dict[str, dict[str, Any]]:
        """The absent tools by name."""
        return {
            row["name"]: row
            for row in self.listing("tools", "--all", cwd=None, **variables)
            if row["state"] == "absent"
        }

    def plugins(self, *words: object, cwd: Path | None = None, **variables: str) -> dict[str, dict[str, Any]]:
        """The plugins by id."""
        return {row["id"]: row for row in self.listing("plugins", *words, cwd=cwd, **variables)}

    def prompts(self, cwd: Path | None = None, **variables: str) -> dict[str, str]:
        """What the model reads of each tool."""
        done = self.pegboard("tools", "--request", cwd=cwd, **variables)
        assert done.returncode == 0, done.stderr
        return {definition["name"]: definition["description"] for definition in json.loads(done.stdout)}

    def call(self, name: str, cwd: Path | None = None, **arguments: str) -> str:
        """What the model reads of a call."""
        done = self.pegboard("call", name, *(f"{key}={value}" for key, value in arguments.items()), "--yes", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def settings(self, **values: Any) -> None:
        """Write the user's settings."""
        folder = self.home / ".pegboard"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(values))

    def settle(self, *sources: Path) -> None:
        """Set back every date the index looks at: as if the last change were a while ago."""
        then = time.time_ns() - SETTLED_SECONDS * 10**9
        files = [path for source in sources for path in (source, *source.rglob("*"))]
        for path in [self.bin, self.site, *files]:
            os.utime(path, ns=(then, then))

    def indexes(self) -> list[Path]:
        """The index files that are kept."""
        return sorted((self.home / ".cache/pegboard").glob("*"))

    def forget(self) -> None:
        """Delete every kept index."""
        for file in self.indexes():
            file.unlink()
