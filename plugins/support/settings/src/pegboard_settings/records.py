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
    """What `load` may be told besides folder, environment and command line."""

    trusted: bool
    """Whether the project is trusted, which is decided before: nothing that loosens or runs is taken from others."""
    vouches: Vouches | None
    """Says of a local file, from its path and content, that the person at this machine made exactly that."""
    application: Mapping[str, Any] | None
    """What a program says; it is as strong as the command line."""
    settings_file: str | None
    """One more file, as strong as the command line; it must exist."""
    managed: str | tuple[str, str]
    """Where the files of the machine's owner are: our folder, and the one of compatible hosts."""
    keys: Keys | None
    """The settings that exist; by default all that installed distributions declare."""
