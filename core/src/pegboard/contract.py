"""What a tool is: one runtime type. A subclass of it is one way to write a tool, `@tool()` the other."""

from __future__ import annotations

import inspect
import os
import re
import typing
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from typing_extensions import TypeVar

from pegboard.calls import Block, Decision, Document, Image, Part, Text, canonical
from pegboard.content import json_text
from pegboard.context import Change, Context
from pegboard.paths import ResolvedPath, paths_of, resolve_path
from pegboard.schemas import schema_of
from pegboard.wording import shown

if TYPE_CHECKING:
    from pegboard.inputs import Input

API = (1, 0)
"""The version of this contract. A plugin fits if it was written for the same major and no higher minor version."""

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

RuleSubject: TypeAlias = Literal["", "command", "path", "host", "name", "namespaced", "parameter"]
Capability: TypeAlias = Literal["", "read", "edit"]
Paths: TypeAlias = tuple[Path, ...]

I = TypeVar("I", bound="Input")  # noqa: E741 - I and O are the input and output of a tool throughout
O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, slots=True)
class Facts:
    """What a call would do. The defaults are those of a tool that declares nothing: it may do anything."""

    read_only: bool = False
    concurrency_safe: bool = False
    open_world: bool = True
    destructive: bool = False
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    deletes: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    reason: str = ""
    confinement: str = ""
    """What holds the call to reading while it runs, as a sentence; empty where nothing does."""
    paths: tuple[ResolvedPath, ...] = field(default=(), repr=False, compare=False)
    """All of these paths, resolved once by the board before anybody decides; what a tool puts here is not used."""

    def touching(self, reads: Paths, writes: Paths, deletes: Paths, paths: tuple[ResolvedPath, ...]) -> Facts:
        """The same facts about these paths. Written out because `replace` takes three times as long."""
        facts = (self.read_only, self.concurrency_safe, self.open_world, self.destructive)
        said = (self.hosts, self.parts, self.reason, self.confinement)
        return Facts(*facts, reads, writes, deletes, *said, paths)

    @property
    def level(self) -> Literal["read-only", "mutating", "dangerous"]:
        """The permission level: read-only runs in most modes, mutating asks, dangerous always asks."""
        if self.destructive:
            return "dangerous"
        return "read-only" if self.read_only and not self.open_world else "mutating"


def resolve_paths(facts: Facts, ctx: Context) -> tuple[Facts, dict[str, bool]]:
    """The facts with their paths resolved, and the real paths: what is decided about is what may be opened.

    Each path is resolved once. Whether a link still leads there when the tool looks no longer matters: another place
    was not decided about, and a tool that opens files safely refuses it.
    """
    if not (facts.reads or facts.writes or facts.deletes):
        return facts if not facts.paths else facts.touching((), (), (), ()), {}
    known: dict[str, ResolvedPath] = {}
    approved: dict[str, bool] = {}
    for path in facts.reads:
        found = _resolved(path, ctx, known)
        found.read = True
        approved[found.spellings[-1]] = False
    for path in facts.writes:
        found = _resolved(path, ctx, known)
        found.write = approved[found.spellings[-1]] = True
    for path in facts.deletes:
        found = _resolved(path, ctx, known)
        found.delete = approved[found.spellings[-1]] = True
    reads, writes, deletes = facts.reads, facts.writes, facts.deletes
    if any(text != found.spellings[-1] for text, found in known.items()):
        reads, writes, deletes = (_beside(named, known) for named in (reads, writes, deletes))
    return facts.touching(reads, writes, deletes, tuple(known.values())), approved


def with_paths(facts: Facts, ctx: Context) -> Facts:
    """The facts with their paths resolved, if they are not resolved yet."""
    return facts if facts.paths else resolve_paths(facts, ctx)[0]


def _resolved(path: Path, ctx: Context, known: dict[str, ResolvedPath]) -> ResolvedPath:
    text = os.fspath(path)
    found = known.get(text)
    if found is None:
        found = known[text] = resolve_path(text if text.startswith("/") else os.fspath(ctx.resolve(path)))
    return found


def _beside(paths: Paths, known: dict[str, ResolvedPath]) -> Paths:
    """The paths as the tool named them, and beside them the real ones."""
    real = (Path(known[os.fspath(path)].spellings[-1]) for path in paths)
    return tuple(dict.fromkeys((*paths, *real)))


@dataclass(frozen=True, slots=True)
class Output(Generic[O]):
    """A value together with what it changes around it. Return the bare value when nothing changes."""

    value: O
    change: Change | None = None
    messages: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """Remarks for programs, added to `Result.notes`; the model does not read them."""


Returns: TypeAlias = O | Output[O] | Coroutine[Any, Any, O | Output[O]]


class Tool(ABC, Generic[I, O]):
    """Something a model can call. Every member but `call` has a default that is safe for an author in a hurry."""

    name: str
    prompt: str
    """What the model reads: the docstring unless set."""
    family: str = ""
    """Set by the loader from the entry point's name."""
    aliases: tuple[str, ...] = ()
    search_hint: str = ""
    guidance: str = ""
    """A part of the system prompt, there as long as the tool is listed."""
    max_result_chars: int | None = 30_000
    interrupt_behavior: Literal["cancel", "block"] = "cancel"
    cascades: bool = False
    """Whether a failure cancels the calls after it in the same turn."""
    subagents: bool = True
    """Whether sub-agents may have it. A tool that speaks for the person, or changes the session itself, says False."""
    pinned: bool = False
    """Whether the model always sees it: it is never deferred."""
    fetches_tools: bool = False
    """Whether it can fetch deferred tools for the model. Where no tool does, nothing is deferred."""
    read_only: bool = False
    concurrency_safe: bool = False
    open_world: bool = True
    destructive: bool = False
    requires_binaries: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    """Values of `sys.platform` on which the tool works; empty means all."""
    requires_setting: str = ""
    """A setting without which the tool is not there, such as one that an option of a run sets."""
    rule_subject: RuleSubject = ""
    """What the parentheses of a permission rule for this tool contain: a `command`, a `path`, a `host` (written
    `domain:example.com`), a `name`, a `namespaced` name such as `plugin:name`, or a `parameter` and its value only.
    Unsaid, every reading that fits counts."""
    rule_parameter: str = ""
    """The input that holds the subject, such as `command`; unsaid, the first text of the input."""
    capability: Capability = ""
    """`read` or `edit`, when the path rules for reading or editing govern the tool. Of its own rules, those with a path
    can only deny and ask."""
    input: type[I]
    output: Any = str

    @abstractmethod
    def call(self, args: I, ctx: Context, /) -> Returns[O]:
        """Do it. A `def` runs in a worker thread, an `async def` is awaited."""

    def facts(self, args: I, ctx: Context, /) -> Facts | Awaitable[Facts]:
        """What this call would do; asked once per call, before permission. Paths in the input count as touched."""
        if not (named := paths_of(args)):
            return self._constant_facts
        paths = tuple(ctx.resolve(path) for _, path in named)
        return self._constant_facts.touching(paths, () if self.read_only else paths, (), ())

    @cached_property
    def _constant_facts(self) -> Facts:
        return Facts(self.read_only, self.concurrency_safe, self.open_world, self.destructive)

    def is_enabled(self) -> bool:
        """Whether the tool can be used at all here. Overriding it means the plugin is imported for every listing."""
        return True

    def validate_input(self, args: I, /) -> str | None:
        """What is wrong with an input that fits the schema, as a sentence. Pure: no files, no network."""
        return None

    def observable_input(self, args: I, ctx: Context, /) -> dict[str, Any]:
        """The input as rules, hooks and people see it: paths are absolute and `~` is expanded."""
        seen: dict[str, Any] = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        for name, path in paths_of(args):
            if isinstance(seen.get(name), str):
                seen[name] = str(ctx.resolve(path))
        return seen

    def check_permission(self, args: I, ctx: Context, /) -> Decision | None | Awaitable[Decision | None]:
        """The tool's own opinion on a call; None leaves it to rules and modes.

        An ask is put to a person each time: no allow rule of a user lifts it, so ask only where nothing else will do.
        """
        return None

    def content(self, value: O, /) -> str | Block | Sequence[Block]:
        """What the model reads of a value: text as it is, everything else as JSON, unless you word it yourself."""
        if isinstance(value, (str, Text, Image, Document)):
            return value
        if isinstance(value, (list, tuple)) and value and all(isinstance(item, Block) for item in value):
            return value
        return json_text(value)

    def user_facing_name(self, args: I, /) -> str:
        """What a person sees as the name of the act."""
        return self.name

    def describe(self, args: I, /) -> str:
        """What a person reads before approving this call."""
        given = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return " ".join([self.name, *(f"{key}={shown(value)}" for key, value in given.items())])

    def preview(self, args: I, ctx: Context, /) -> str | None:
        """What the call would change, such as a diff, for the person who is asked."""
        return None

    def render_use(self, args: I, /) -> object | None:
        """The call for a terminal (a rich renderable), or None for the generic view."""
        return None

    def render_result(self, value: O, /) -> object | None:
        """The value for a terminal, or None for the generic view."""
        return None

    def render_error(self, message: str, /) -> object | None:
        """A failure for a terminal, or None for the generic view."""
        return None

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the input."""
        return schema_of(self.input)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """What the model sees of this tool. Built on first need, then kept."""
        return {"name": self.name, "description": self.prompt, "input_schema": self.input_schema}

    @cached_property
    def definition_bytes(self) -> bytes:
        """The definition in its canonical spelling."""
        return canonical(self.definition)

    @cached_property
    def is_async(self) -> bool:
        """Whether `call` is awaited rather than run in a thread."""
        return inspect.iscoroutinefunction(self.call)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__dict__.get("__orig_bases__", ()):  # Its own: a subclass inherits what its base has set.
            if typing.get_origin(base) is Tool:
                given, *made = typing.get_args(base)
                if not isinstance(given, TypeVar):
                    cls.output = made[0] if made else str
                    if "input" not in cls.__dict__:
                        cls.input = given
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "prompt" not in cls.__dict__:
            cls.prompt = inspect.cleandoc(cls.__doc__ or "")

    def __repr__(self) -> str:
        return f"<tool {self.name}>"
