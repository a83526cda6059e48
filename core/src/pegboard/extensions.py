"""What a plugin may bring besides tools: sources of tools and modes; and what its hooks hand back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from pegboard.calls import JSON, Block, Call, Decision, Result
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.errors import SettingsError
from pegboard.forms import FormField, fill


class ToolSource(Protocol):
    """A place tools come from at run time, such as an MCP server."""

    name: str

    @property
    def version(self) -> Hashable:
        """Changes whenever `tools()` would answer differently."""
        ...

    def tools(self) -> Sequence[Tool[Any, Any]]:
        """The tools as they are now. An error keeps the last good ones."""
        ...


class ResultsStore(Protocol):
    """The service `results`: it keeps whole what is too long for a conversation. Saving blocks."""

    def fit(self, blocks: Sequence[Block], limit: int | None, name: str, call_id: str) -> tuple[Block, ...]:
        """The blocks as they are when their text is within the limit, else what the model sees instead."""
        ...

    def fit_turn(self, results: Sequence[Result], budget: int) -> list[Result]:
        """The results of a turn so that their text is within the budget."""
        ...


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """What a tool declares about permission rules; the meaning of each is in `Tool`. The tool need not be imported."""

    name: str
    aliases: tuple[str, ...] = ()
    rule_subject: str = ""
    rule_parameter: str = ""
    capability: str = ""
    known: bool = True
    """False for a tool that is absent, of which only the name is known."""


ModeOpinion: TypeAlias = Callable[[Tool[Any, Any], Facts, Context], Decision | None]


@dataclass(frozen=True, slots=True)
class Mode:
    """A permission mode. Rules that deny or ask hold in every mode; a mode has a say in what is left."""

    name: str
    decide: ModeOpinion | None = None
    """What the mode thinks of a call, from its facts with resolved paths. None leaves the call to the default."""
    width: int = 0
    """How much the mode lets run: `plan` is -1, `default` 0. A sub-agent's mode is never wider than its parent's."""
    aliases: tuple[str, ...] = ()
    lifts_asks: bool = False
    """Whether an ask of a tool or plugin is not put to a person, unless only a person may answer it."""
    classifies: bool = False
    """Whether `classify_call` hooks are asked about a call on which there is no opinion."""
    asks: bool = True
    """False for a mode that puts no question: what would ask is denied."""
    switch: str = ""
    """A setting that switches the mode off with the value `disable`."""
    from_repository: bool = True
    """Whether the settings of a trusted repository may choose it as the default."""
    as_root: bool = True
    """Whether root may start in it outside a sandbox."""


class Fine(str):
    """An answer of a `diagnose` hook that is no finding: what is there, and how it is set up."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """The model that is about to be asked, for hooks that word definitions differently for some."""

    model: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """What a `before_call` hook wants: another input, a say in the decision, a remark for the model."""

    input: JSON | None = None
    decision: Decision | None = None
    context: str = ""
    stop: str = ""
    """Why the model must not go on after this turn. The call itself is stopped by a decision."""
    alone: bool = False
    """Whether no other call may run beside this one, because what a hook does around it could disturb them."""


@dataclass(frozen=True, slots=True)
class After:
    """What an `after_call` hook wants: another value (set `replaces`), a remark for the model, an end (`stop`)."""

    value: Any = None
    replaces: bool = False
    context: str = ""
    stop: str = ""
    """Why the model must not go on after this turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question that is more than yes or no: another input to run with, or an end of everything."""

    decision: Decision
    input: JSON | None = None
    """The whole input to use instead. It is validated and judged again: an answer never lifts a rule.

    Of a question with a form: the form, filled in."""
    stop: str = ""


@dataclass(frozen=True)
class Question:
    """A call that needs approval, as it will run; or what a tool asks in the middle of its call with `put_question`."""

    call: Call
    decision: Decision
    description: str
    """What the tool says about the call in words: its `describe()`."""
    input: JSON = field(default_factory=dict)
    tool: Tool[Any, Any] | None = field(default=None, repr=False)
    args: Any = field(default=None, repr=False)
    digest: str = ""
    """The hash of `input`. An approval holds for this input only: the call does not run with another."""
    agent: str = ""
    """The sub-agent that wants it, in words; empty for the main agent."""
    form: tuple[FormField, ...] = ()
    """What the person is to fill in. The answer is an `Answer` whose `input` has the fields by name."""
    read: Callable[[JSON], JSON] = field(default=lambda given: given, repr=False, compare=False)
    """Turns the `input` of an answer into the fields of the form, where programs may write it in another shape.

    A `ValueError` says what does not fit."""
    make_preview: Callable[[], str | None] = field(default=lambda: None, repr=False, compare=False)
    make_rules: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)
    keeper: Callable[[tuple[str, ...]], str] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def preview(self) -> str | None:
        """What the call would change, such as a diff. Computed when first read: without a person it never is."""
        return self.make_preview()

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Rules that would allow this very call and nothing more; empty where none would help."""
        return self.make_rules()

    def fill(self, given: JSON) -> JSON:
        """The form filled in with what was given, and defaults for the rest. A `ValueError` says what does not fit."""
        return fill(self.form, self.read(given))

    def keep_rules(self) -> str:
        """Keep `rules` for the future, and say where. Raises `SettingsError` where they cannot be kept."""
        if self.keeper is None:
            raise SettingsError("No plugin can save rules.", source="rules")
        return self.keeper(self.rules)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `kind` is a participle such as `call_started`; `data` is JSON-like."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
