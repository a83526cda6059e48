"""Read the settings that a distribution declares in the `pegboard.toml` of its package. Nothing of it is imported.

What is read is kept in the core's index, so that this module and `tomllib` are imported only when something was
installed.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, cast

from pegboard_settings.errors import PegboardError
from pegboard_settings.keys import CHECKS, KINDS, Key, misfit
from pegboard_settings.wording import shown

if TYPE_CHECKING:
    from collections.abc import Container

    from pegboard_settings.records import SettingRecord

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


class DeclarationError(PegboardError):
    """A declaration cannot be used."""


def read_declaration(
    path: str, owner: str, taken: Container[str] | None
) -> tuple[dict[str, SettingRecord], dict[str, tuple[str, Any]]]:
    """The declared settings and the keys that are known to be unused; `DeclarationError` says what is wrong.

    `owner` is the name of the distribution, `taken` are the groups of settings that strangers may not have. None for a
    distribution of Pegboard's own, which may use all names and two more fields.
    """
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror}. The entry point pegboard.settings names it."
        raise DeclarationError(reason) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path} is not valid TOML: {error}.") from None
    if unknown := sorted(found.keys() - {"settings", "not_used"}):
        raise DeclarationError(f"{path}: there is no table {unknown[0]!r}. The only table is settings.")
    settings = found.get("settings", {})
    if not isinstance(settings, dict):
        raise DeclarationError(f"{path}: settings must be a table.")
    made = {name: _setting(name, fields, path, is_own=taken is None) for name, fields in settings.items()}
    for name, record in made.items():
        if taken is not None:
            _check_name(name, record.get("variable", ""), owner, taken, f"{path}: the setting {name!r}")
        record["owner"] = owner
    return made, {name: (said["why"], said.get("value")) for name, said in found.get("not_used", {}).items()}


def _setting(name: str, fields: Any, path: str, *, is_own: bool) -> SettingRecord:
    """One setting, checked."""
    where = f"{path}: the setting {name!r}"
    inner = fields.items() if isinstance(fields, dict) else ()
    if not inner or any(isinstance(value, dict) for field, value in inner if field not in FIELDS):
        raise DeclarationError(f'{path}: put the name of a setting in quotes, such as [settings."acme.limit"].')
    if not NAME.fullmatch(name):
        raise DeclarationError(f"{where}: a name consists of letters, digits, _ and -, in parts separated by dots.")
    _check_fields(fields, OWN_FIELDS if is_own else FIELDS, where)
    record = cast("SettingRecord", fields)
    key = Key(name, record)
    if key.kind not in COMBINE.get(key.combine, ()):
        fitting = ", ".join(word for word, kinds in COMBINE.items() if key.kind in kinds)
        reason = f"a setting of the kind {key.kind} may combine as {fitting}, not {key.combine!r}."
        raise DeclarationError(f"{where}: {reason}")
    misplaced = key.kind not in ("map", "lists") and bool(key.choices) != (key.kind == "choice")
    if misplaced or bool(key.fields) != (key.kind == "table"):
        reason = "choices belong to the kinds choice, map and lists, and fields to the kind table."
        raise DeclarationError(f"{where}: {reason}")
    if key.has_default and (wrong := misfit(key, key.default)):
        raise DeclarationError(f"{path}: the default of {wrong}")
    return record


def _check_fields(fields: dict[str, Any], known: dict[str, type], where: str) -> None:
    for field, value in fields.items():
        if field not in known:
            raise DeclarationError(f"{where}: there is no field {field!r}. The fields are {', '.join(known)}.")
        if not isinstance(value, known[field]):
            raise DeclarationError(f"{where}: {field} must be {known[field].__name__}, got {shown(value)}.")
    for field in ("choices", "fields"):
        if not all(isinstance(item, str) for item in fields.get(field, ())):
            raise DeclarationError(f"{where}: {field} must be a list of strings.")
    if fields.get("kind") not in (*KINDS, *CHECKS):
        raise DeclarationError(f"{where} needs a kind: one of {', '.join((*KINDS, *CHECKS))}.")
    if not fields.get("doc", "").strip():
        raise DeclarationError(f"{where} needs a doc: a sentence that describes it.")


def _check_name(name: str, variable: str, owner: str, taken: Container[str], where: str) -> None:
    """A stranger's settings live under the name of its distribution, and its variables too."""
    if not name.startswith(f"{owner}."):
        wanted = f"{owner}.{name.rpartition('.')[2]}"
        raise DeclarationError(f"{where} must begin with the name of the distribution: {wanted}.")
    if owner in taken:
        raise DeclarationError(f"{where}: {owner} is the name of a group of Pegboard's own settings.")
    start = f"{owner.replace('-', '_').upper()}_"
    if variable and not variable.startswith(start):
        raise DeclarationError(f"{where}: the variable must begin with {start}, got {variable!r}.")
