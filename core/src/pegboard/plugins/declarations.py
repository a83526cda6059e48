"""Read the settings that a distribution declares in the `pegboard.toml` of its package. Nothing of it is imported.

The entry point group `pegboard.settings` names the package. What is read is kept in the index, so that this module and
`tomllib` are imported only when something was installed.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any, cast

from pegboard.errors import PluginError
from pegboard.plugins.builtin import normalise
from pegboard.reserved import NAMESPACES
from pegboard.settings.keys import CHECKS, KINDS, Key, misfit
from pegboard.wording import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard.records import SettingRecord

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

FILE = "pegboard.toml"
CORE = "pegboard-core"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*")
FIELDS: dict[str, type] = {
    "kind": str,
    "doc": str,
    "combine": str,
    "default": object,
    "choices": list,
    "fields": list,
    "repository": bool,
    "variable": str,
    "guard": bool,
    "expects": str,
}
OWN_FIELDS = {**FIELDS, "compatible": bool, "reserves": str}
"""Two more for Pegboard's own: read from compatible files too, and a switch of the owner that reserves another key."""

COMBINE = {
    "first": (*KINDS, *CHECKS),
    "union": ("strings", "rules"),
    "intersect": ("strings",),
    "merge": ("map", "seconds", "table", "object"),
    "concat": ("lists",),
}
"""How layers may combine, and for which kinds."""


def read_declaration(
    path: str, dist: str, plugins: Sequence[str], *, own: bool
) -> tuple[dict[str, SettingRecord], dict[str, tuple[str, Any]]]:
    """The declared settings and the keys that are known to be unused; `PluginError` says what is wrong.

    `plugins` are the entry points of the distribution, `own` says whether it is one of Pegboard's.
    """
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise _fault(f"{path} cannot be read: {error.strerror}. The entry point pegboard.settings names it.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _fault(f"{path} is not valid TOML: {error}.") from None
    if unknown := sorted(found.keys() - {"settings", "not_used"}):
        raise _fault(f"{path}: there is no table {unknown[0]!r}. The only table is settings.")
    settings, dist = found.get("settings", {}), normalise(dist)
    if not isinstance(settings, dict):
        raise _fault(f"{path}: settings must be a table.")
    made = {name: _setting(name, fields, "" if own else dist, path) for name, fields in settings.items()}
    for record in made.values():
        record["owner"] = dist
        if record.get("guard"):
            record["plugins"] = [entry for entry in plugins if entry.startswith("policy.")] or list(plugins)
    return made, {name: (said["why"], said.get("value")) for name, said in found.get("not_used", {}).items()}


def read_core() -> dict[str, SettingRecord]:
    """The settings of the core itself."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return read_declaration(os.path.join(home, FILE), CORE, (), own=True)[0]


def _setting(name: str, fields: Any, dist: str, path: str) -> SettingRecord:
    """One setting, checked; no `dist` means that it is Pegboard's own."""
    where = f"{path}: the setting {name!r}"
    inner = fields.items() if isinstance(fields, dict) else ()
    if not inner or any(isinstance(value, dict) for field, value in inner if field not in FIELDS):
        raise _fault(f'{path}: put the name of a setting in quotes, such as [settings."acme.limit"].')
    if not NAME.fullmatch(name):
        raise _fault(f"{where}: a name consists of letters, digits, _ and -, in parts separated by dots.")
    known = FIELDS if dist else OWN_FIELDS
    _check_fields(fields, known, where)
    _check_name(name, fields.get("variable", ""), dist, where)
    record = cast("SettingRecord", fields)
    key = Key(name, record)
    if key.kind not in COMBINE.get(key.combine, ()):
        fitting = ", ".join(word for word, kinds in COMBINE.items() if key.kind in kinds)
        raise _fault(f"{where}: a setting of the kind {key.kind} may combine as {fitting}, not {key.combine!r}.")
    misplaced = key.kind not in ("map", "lists") and bool(key.choices) != (key.kind == "choice")
    if misplaced or bool(key.fields) != (key.kind == "table"):
        raise _fault(f"{where}: choices belong to the kinds choice, map and lists, and fields to the kind table.")
    if key.has_default and (wrong := misfit(key, key.default)):
        raise _fault(f"{path}: the default of {wrong}")
    return record


def _check_fields(fields: dict[str, Any], known: dict[str, type], where: str) -> None:
    for field, value in fields.items():
        if field not in known:
            raise _fault(f"{where}: there is no field {field!r}. The fields are {', '.join(known)}.")
        if not isinstance(value, known[field]):
            raise _fault(f"{where}: {field} must be {known[field].__name__}, got {shown(value)}.")
    for field in ("choices", "fields"):
        if not all(isinstance(item, str) for item in fields.get(field, ())):
            raise _fault(f"{where}: {field} must be a list of strings.")
    if fields.get("kind") not in (*KINDS, *CHECKS):
        raise _fault(f"{where} needs a kind: one of {', '.join((*KINDS, *CHECKS))}.")
    if not fields.get("doc", "").strip():
        raise _fault(f"{where} needs a doc: a sentence that describes it.")


def _check_name(name: str, variable: str, dist: str, where: str) -> None:
    """A stranger's settings live under the name of its distribution, and its variables too."""
    if not dist:
        return
    if not name.startswith(f"{dist}."):
        raise _fault(f"{where} must begin with the name of the distribution: {dist}.{name.rpartition('.')[2]}.")
    if dist in NAMESPACES:
        raise _fault(f"{where}: {dist} is the name of a group of Pegboard's own settings.")
    start = f"{dist.replace('-', '_').upper()}_"
    if variable and not variable.startswith(start):
        raise _fault(f"{where}: the variable must begin with {start}, got {variable!r}.")


def _fault(reason: str) -> PluginError:
    return PluginError(reason, kind="bad-settings")


def declaration_file(package: str, places: Sequence[str]) -> str:
    """Where the `pegboard.toml` of a package is."""
    return find_file(os.path.join(*package.split("."), FILE), package, places)


def find_file(relative: str, package: str, places: Sequence[str]) -> str:
    """Where a file of a package is, or would be. It is looked for on disk; nothing of the package is imported."""
    for place in places:
        path = os.path.join(place, relative)
        if place and os.path.isfile(path):
            return path
    return _beside_the_package(package, relative) or os.path.join(places[0], relative)


def _beside_the_package(package: str, relative: str) -> str:
    """The file of an editable project with a layout of its own; finding a top-level package imports nothing."""
    from importlib.util import find_spec  # Rarely needed.

    try:
        spec = find_spec(package.partition(".")[0])
    except (ImportError, ValueError):
        return ""
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(os.path.dirname(folder), relative)
        if os.path.isfile(path):
            return path
    return ""
