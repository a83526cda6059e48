"""What is declared of settings, and what `load` may be told, as types. Only type checkers import this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypeAlias, TypedDict

from pegboard_settings.keys import Keys

Vouches: TypeAlias = Callable[[str, bytes], bool]


class SettingRecord(TypedDict):
    """A declared setting: the fields of `pegboard.toml`, the distribution, and for a guard the plugins it needs."""

    kind: str
    doc: str
    combine: NotRequired[str]
    default: NotRequired[Any]
    choices: NotRequired[list[str]]
    fields: NotRequired[list[str]]
    expects: NotRequired[str]
    repository: NotRequired[bool]
    variable: NotRequired[str]
    guard: NotRequired[bool]
    compatible: NotRequired[bool]
    reserves: NotRequired[str]
    owner: NotRequired[str]
    plugins: NotRequired[list[str]]


class GuardRecord(TypedDict):
    """A setting that promises protection: the distribution and the plugins that keep the promise."""

    owner: str
    plugins: list[str]
    repository: NotRequired[bool]
    compatible: NotRequired[bool]


class DeclaredSettings(TypedDict):
    """The settings of all installed distributions, and the declarations that cannot be used."""

    settings: dict[str, SettingRecord]
    not_used: dict[str, tuple[str, Any]]
    faults: list[tuple[str, str]]


class LoadOptions(TypedDict, total=False):
    """What `load` may be told besides folder, environment and command line; its docstring says what each means."""

    trusted: bool
    vouches: Vouches | None
    application: Mapping[str, Any] | None
    settings_file: str | None
    managed: str | tuple[str, str]
    keys: Keys | None
