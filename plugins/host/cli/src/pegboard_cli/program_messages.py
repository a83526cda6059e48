"""What a program may write on standard input with `--input-format stream-json`: one JSON object per line."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator


class Message(BaseModel):
    """A line. Unknown fields are refused: a misspelt one would be ignored silently."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Prompt(Message):
    """A prompt. It waits until those before it are answered."""

    type: Literal["prompt"]
    text: str = ""
    content: list[dict[str, Any]] = []
    """Content blocks, such as images, in place of the text."""

    @model_validator(mode="after")
    def _has_something_to_say(self) -> Prompt:
        if bool(self.text.strip()) == bool(self.content):
            raise ValueError("give either text or content")
        return self


class Interrupt(Message):
    """Stop the prompt that is being answered. The conversation goes on."""

    type: Literal["interrupt"]


class AnswerMessage(Message):
    """The answer to a `question`."""

    type: Literal["answer"]
    id: str
    decision: Literal["allow", "deny"]
    reason: str = ""
    """What the model reads when it is denied."""
    input: dict[str, Any] | None = None
    """The whole input to run with instead; of a question with a form, its fields."""
    keep_rules: bool = False
    """Whether to save the rules that the question suggests."""


class Filters(Message):
    """Which tools the model is shown from now on, in place of `--tools` and `--exclude-tools`."""

    type: Literal["filters"]
    available: list[str] | None = Field(default=None, alias="availableTools")
    excluded: list[str] = Field(default=[], alias="excludedTools")


class ToolDefinition(Message):
    """A tool of the program. What it says about itself is believed, as of any installed tool."""

    name: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool = False
    concurrency_safe: bool = False
    open_world: bool = True
    destructive: bool = False
    search_hint: str = ""


class RegisterTools(Message):
    """Add tools that the program runs itself; of an equal name, the new one takes the place of the old."""

    type: Literal["register_tools"]
    tools: list[ToolDefinition]


class RemoveTools(Message):
    """Take tools of the program away again."""

    type: Literal["remove_tools"]
    names: list[str]


class ToolResult(Message):
    """What a tool of the program has done, for a `tool_call`."""

    type: Literal["tool_result"]
    id: str
    content: str | dict[str, Any] | list[Any]
    """Text, or JSON that the model reads as such."""
    is_error: bool = False


AnyMessage = Prompt | Interrupt | AnswerMessage | Filters | RegisterTools | RemoveTools | ToolResult
_ADAPTER: TypeAdapter[AnyMessage] = TypeAdapter(Annotated[AnyMessage, Field(discriminator="type")])
TYPES = ("prompt", "interrupt", "answer", "filters", "register_tools", "remove_tools", "tool_result")


def parse(line: bytes) -> AnyMessage:
    """The message in a line. A `ValueError` says what is wrong with it."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"This line is not JSON: {error}.") from None
    if not isinstance(read, dict):
        raise ValueError(f"A line must be a JSON object, got {type(read).__name__}.")
    if read.get("type") not in TYPES:
        raise ValueError(f"There is no message of the type {read.get('type')!r}. The types are: {', '.join(TYPES)}.")
    try:
        return _ADAPTER.validate_python(read)
    except ValidationError as error:
        raise ValueError(f"{read['type']}: {_faults(error)}.") from None


def _faults(error: ValidationError) -> str:
    """Each fault with the place of it, without the name of the type."""
    found = []
    for fault in error.errors(include_url=False, include_context=False):
        place = ".".join(map(str, fault["loc"][1:]))
        words = fault["msg"].removeprefix("Value error, ")
        found.append(f"{place}: {words}" if place else words)
    return "; ".join(dict.fromkeys(found))
