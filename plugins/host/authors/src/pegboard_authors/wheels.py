"""Wheels from what is installed here: no index is asked, so a bundle can be built without a network."""

from __future__ import annotations

import json
import os
import re
import zipfile
from importlib.metadata import Distribution, PackagePath
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from pegboard_authors.archives import digest, epoch, write_wheel
from pegboard_authors.exit_codes import UsageError

MADE_BY_INSTALLERS = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "RECORD.jws", "RECORD.p7s"}
Files = dict[str, tuple[bytes, bool]]


def wheel_of(dist: Distribution, folder: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """The wheel of an installed distribution: put together again from its files, or built if it is editable."""
    project = editable_root(dist)
    return _build(project, folder) if project else _repack(dist, folder, compression)


def editable_root(dist: Distribution) -> Path | None:
    """The project of an editable install."""
    origin = json.loads(dist.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlsplit(origin["url"]).path))


def _build(project: Path, folder: Path) -> Path:
    """Build with the project's own build system, from what is installed here."""
    # Imported here because only editable installs need it.
    from build import BuildBackendException, BuildException, ProjectBuilder
    from pyproject_hooks import quiet_subprocess_runner

    os.environ.setdefault("SOURCE_DATE_EPOCH", str(epoch()))
    try:
        return Path(ProjectBuilder(project, runner=quiet_subprocess_runner).build("wheel", folder))
    except (BuildException, BuildBackendException) as error:
        reason = str(error).rstrip(".")
        raise UsageError(f"{project} cannot be built: {reason}. Install its build requirements.") from None


def _repack(dist: Distribution, folder: Path, compression: int) -> Path:
    name, version = dist.metadata["Name"], dist.version
    files: Files = {}
    if not dist.files:
        raise UsageError(f"{name} does not list its files. Install it from a wheel, then build again.")
    info = next(str(file.parent) for file in dist.files if file.match("*.dist-info/METADATA"))
    data_folder = f"{info.removesuffix('.dist-info')}.data"
    scripts = {entry.name for entry in dist.entry_points if entry.group in ("console_scripts", "gui_scripts")}
    for file in dist.files:
        inner = _place(file, info, data_folder, scripts)
        if inner:
            files[inner] = _content(file, name)
    stem = f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}-{_tags(dist.read_text('WHEEL') or '')}"
    return write_wheel(folder / f"{stem}.whl", info, files, compression)


def _place(file: PackagePath, info: str, data_folder: str, scripts: set[str]) -> str | None:
    """The path of a file in the wheel; None for files that the installer created."""
    path = PurePosixPath(file)
    if "__pycache__" in path.parts or path.suffix == ".pyc":
        return None
    if str(path.parent) == info and path.name in MADE_BY_INSTALLERS:
        return None
    if path.parts[0] != "..":
        return str(path)
    inner = [part for part in path.parts if part != ".."]
    if inner[0] in ("bin", "Scripts"):
        return None if path.stem in scripts or path.name in scripts else f"{data_folder}/scripts/{path.name}"
    return f"{data_folder}/data/{'/'.join(inner)}"


def _content(file: PackagePath, name: str) -> tuple[bytes, bool]:
    place = Path(str(file.locate()))
    try:
        data = place.read_bytes()
    except OSError as error:
        raise UsageError(f"{name} is not completely installed: {place}: {error.strerror}. Install it again.") from None
    if file.hash and f"{file.hash.mode}={file.hash.value}" != digest(data):
        raise UsageError(f"{name} was changed after it was installed: {place}. Install it again.")
    if file.parts[0] == ".." and data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]:
        data = b"#!python\n" + data.split(b"\n", 1)[1]
    return data, os.access(place, os.X_OK) and file.suffix not in (".py", ".so")


def _tags(wheel: str) -> str:
    """The compressed tags of a wheel's name."""
    tags = [line.partition(":")[2].strip().split("-") for line in wheel.splitlines() if line.startswith("Tag:")]
    parts = [".".join(sorted({tag[place] for tag in tags})) for place in range(3)]
    return "-".join(parts)
