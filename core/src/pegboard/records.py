"""What the index keeps, as types. Only type checkers import this: a record is a plain dict that `marshal` can store."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from pegboard_settings.records import DeclaredSettings


class PluginName(TypedDict):
    """What switches need to know of a plugin."""

    dist: str
    entry: str
    family: str


class ToolOwner(PluginName):
    """Where a tool in the pool comes from."""

    version: str
    overrides: NotRequired[bool]


class ToolRecord(TypedDict):
    """A tool, as far as listings and the pool need it."""

    name: str
    aliases: list[str]
    hint: str
    guidance: str
    definition: bytes
    read_only: bool
    concurrency_safe: bool
    open_world: bool
    destructive: bool
    max_result_chars: int | None
    requires_binaries: list[str]
    requires_setting: str
    platforms: list[str]
    dynamic: bool
    subagents: bool
    pinned: bool
    fetches_tools: bool
    rule_subject: str
    rule_parameter: str
    capability: str


class ScanRecord(TypedDict):
    """What came of importing a plugin once."""

    state: str
    kind: str
    reason: str
    traceback: str
    hooks: list[str]
    unspecified: list[str]
    tools: list[ToolRecord]
    printed: str
    ms: float
    origin: str
    files: NotRequired[list[str]]
    sources_when: NotRequired[list[str]]
    """Settings, and files of the project, of which one must be there for `tool_sources` to return anything."""


class PluginRecord(ToolOwner):
    """An installed plugin; `scan` is None until it is needed."""

    id: str
    value: str
    api: str
    root: str
    editable: str
    record: str
    scan: ScanRecord | None


class CommandRecord(TypedDict):
    """A command that a distribution adds to `pegboard`."""

    name: str
    dist: str
    value: str


class HookRecord(TypedDict):
    """The specification of a hook: who calls it, with what, and whether implementations may be `async def`."""

    owner: str
    parameters: list[str]
    awaits: bool


class Declared(DeclaredSettings):
    """The settings and hooks of all installed distributions, and the declarations that cannot be used."""

    hooks: dict[str, HookRecord]
    files: list[str]


class Discovery(TypedDict):
    """What metadata alone tells."""

    plugins: list[PluginRecord]
    commands: list[CommandRecord]
    declared: Declared


class IndexRecord(Discovery):
    """The index of one environment, with what has to be unchanged for it to be true."""

    format: int
    places: list[str]
    installed: list[int]
    stamps: list[tuple[str, int, int, int]]
