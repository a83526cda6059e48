"""What goes into the board and what comes out: calls, decisions, content and results. Plain data, nothing to run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

JSON: TypeAlias = Mapping[str, Any]


def canonical(value: object) -> bytes:
    """The one spelling of a JSON value: equal values give equal bytes in every process."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def unfrozen(frozen: type) -> Any:
    """A class with the fields of a frozen dataclass. Fill it in, and make `frozen` its `__class__`.

    For what every call makes: a frozen constructor sets each field by its name, which takes ten times as long.
    """
    return type(frozen.__name__, (), {"__slots__": frozen.__slots__})  # type: ignore[attr-defined]


def fingerprint(seen: JSON) -> str:
    """The SHA-256 of the canonical JSON of an input."""
    text = json.dumps(seen, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    # surrogatepass: a path with undecodable bytes must have a fingerprint too, or it could not be approved.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a model: run this tool with this input. `input` is JSON text as it arrived, or a mapping."""

    id: str
    name: str
    input: str | bytes | JSON = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for the model. `data` are the encoded bytes, `media_type` is such as image/png."""

    data: bytes = field(repr=False)
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class Document:
    """A document for the model, such as a PDF."""

    data: bytes = field(repr=False)
    media_type: str = "application/pdf"
    title: str = ""


Block: TypeAlias = Text | Image | Document


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a compound input, such as a command of a pipeline, as permission rules see it."""

    text: str
    also: tuple[str, ...] = ()
    """Other readings of the same piece; deny and ask rules see them too, allow rules never do."""
    read_only: bool = False
    exact: bool = False
    """Only a rule that spells it out may allow it; a rule with a wildcard may not."""


@dataclass(frozen=True, slots=True)
class Decision:
    """May this call run? The three answers are `Allow`, `Ask` and `Deny`; each says who decided and why."""

    reason: str = ""
    layer: str = ""
    rule: str = ""
    source: str = ""
    line: int | None = None
    matched: str = ""

    @property
    def word(self) -> str:
        """`allow`, `ask` or `deny`."""
        return type(self).__name__.lower()


class Allow(Decision):
    """The call may run."""

    __slots__ = ()


class Ask(Decision):
    """A person has to say."""

    __slots__ = ()


class Deny(Decision):
    """The call must not run."""

    __slots__ = ()


def strictest(opinions: list[Decision]) -> Decision | None:
    """Deny beats ask beats allow, in whatever order they came; of equals the first is named."""
    for kind in (Deny, Ask, Allow):
        for opinion in opinions:
            if isinstance(opinion, kind):
                return opinion
    return None


@dataclass(frozen=True, slots=True)
class Result:
    """The one answer that every call gets: what the model reads, and beside it what programs read."""

    call_id: str
    name: str
    content: tuple[Block, ...] = ()
    is_error: bool = False
    code: str = ""
    value: Any = None
    decision: Decision | None = None
    notes: tuple[str, ...] = ()
    change: Any = None
    messages: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))
