"""What a session and a model's provider say to each other: a neutral request, and the typed events of an answer.

The wire format of a service, its cache markers and the pieces in which it sends JSON stay inside the provider.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pegboard_session.model_options import ModelOptions

if TYPE_CHECKING:
    from pegboard_session.boards import ToolBoard

Message: TypeAlias = Mapping[str, Any]
"""`{"role": "user" | "assistant", "content": [block, …]}`; every block is a JSON object with a `type`.

| type | fields | who writes it |
|---|---|---|
| `text` | `text`, and what `TextEnd.extra` added | both |
| `image`, `document` | `source`: `{"type": "base64", "media_type": …, "data": …}`; `title` | user |
| `tool_use` | `id`, `name`, `input`, and what `ToolCall.extra` added | assistant |
| `tool_result` | `tool_use_id`, `content` (text, image and document blocks; may be absent), `is_error`, `fetched` \
(names of tools that it made available; the first text has their definitions; leave it out of what you send) | user |
| any other | an `OpaqueBlock` of this very provider, as it was | assistant |
"""


@dataclass(frozen=True, slots=True)
class CachePoints:
    """Where the beginning of a request will be the same next time, for services that can cache it."""

    tools: tuple[int, ...] = ()
    """Positions in `Request.tools`: everything up to and including each of them is stable."""
    system: bool = False
    last_message: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, in the words of no service."""

    model: str
    messages: Sequence[Message]
    system: Sequence[str] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    """Definitions with `name`, `description` and `input_schema`, in an order that must be kept."""
    max_tokens: int = 1024
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options under the service's own names, such as `temperature`; pass on what you do not know."""
    cache: CachePoints = CachePoints()
    wanted: ModelOptions = field(default_factory=ModelOptions)
    """How the model is asked: thinking, effort and the like. Leave out what your service has no words for."""
    fetched: Sequence[str] = ()
    """Tools at the end of `tools` that the model has fetched. A service that can load tools later may do so here:
    the `tool_result` that brought a tool names it under `fetched`."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text. Consecutive pieces form one text block, until another event but a `ThinkingDelta` follows."""

    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The end of a text block. Only needed between two blocks, or to keep fields of the service such as citations."""

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's thinking, to show. What must be sent back next time is an `OpaqueBlock`."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call whose input is complete. It may start at once, so never yield one that is still growing."""

    id: str
    name: str
    input: str = "{}"
    """The input as JSON text, as the model wrote it. Text that is not valid JSON is refused, and the model told so."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the service, handed back with the `tool_use` block."""


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A block that means something to this provider only: it is kept, and handed back as it is with each request."""

    data: Mapping[str, Any]
    """A JSON object whose `type` is none of `text`, `tool_use` and `tool_result`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of this answer, as far as they are known now. Of several events the last number of each kind counts."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    others: Mapping[str, int] = field(default_factory=dict)
    """Further kinds, shown but not priced."""

    def counts(self) -> dict[str, int]:
        """The known numbers by kind."""
        known = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            **self.others,
        }
        return {name: number for name, number in known.items() if number is not None}


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of an answer. An answer without it broke off."""

    reason: str = "end_turn"
    """`end_turn`, `tool_use`, `max_tokens`, `refusal`, `context_overflow`, or `pause_turn` to be asked to continue."""


ProviderEvent: TypeAlias = TextDelta | TextEnd | ThinkingDelta | ToolCall | OpaqueBlock | Usage | Stop


@dataclass(frozen=True, slots=True)
class ServerSearch:
    """A search of the web that the service of a model does itself. Domains include the ones below them."""

    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    most: int = 1
    """How many searches one answer may do."""


class Provider(Protocol):
    """A model behind a wire.

    Four attributes are looked for and may be missing: `models`, in the shape of the setting of that name, which beats
    it; `for_agent(name, kind)`, the provider that a sub-agent asks; `missing()`, the name of what has to be set before
    any request could succeed, such as the variable of a key, or nothing; and `default_model`, the model to ask where
    none is named.

    Two more belong together, where the service searches the web itself: `search_request(request, search)` is the
    request with its search switched on as a `ServerSearch` says, or None where the model has none;
    `search_sources(block)` is what one block of the answer has found: objects with `url` and perhaps `title`, `text`
    and `age`.
    """

    name: str

    def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer, in order. What goes wrong is a `ProviderError`; asking again is not its job."""
        ...


def find_providers(board: ToolBoard) -> dict[str, Provider]:
    """The models that the plugins of a board provide, by name."""
    return {
        provider.name: provider for register in board.hooks.register_providers for provider in register(board.settings)
    }
