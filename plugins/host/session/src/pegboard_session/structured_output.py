"""A final answer that follows a JSON schema: checked when the model is done, and asked for once more if it does not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pegboard import SettingsError
from pegboard_session.outcome import Outcome

LARGEST = 200_000
FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
MOST_FAULTS = 5


class StructuredOutput:
    """What a session does about the form of its final answers. Without a schema, nothing."""

    def __init__(self, schema: Mapping[str, Any] | None, source: str = "the output schema") -> None:
        """Raises `SettingsError` for a schema that is none."""
        self.schema = schema
        self._is_asked_again = False
        if schema is not None:
            from jsonschema import Draft202012Validator, SchemaError  # 0.15 s that other sessions need not pay

            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                place = "/".join(map(str, error.absolute_path)) or "the schema"
                raise SettingsError(f"This is not a JSON schema: {place}: {error.message}.", source=source) from None
            self._validator: Any = Draft202012Validator(schema)

    def new_prompt(self, is_held: bool) -> str:
        """A prompt begins. What a model is told whose service cannot hold it to the schema; others need no words."""
        self._is_asked_again = False
        if self.schema is None or is_held:
            return ""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return (
            "When you are done, your last message must be one JSON value that follows this schema, with no words or "
            f"code fence around it:\n{schema}"
        )

    def ask_again(self, text: str) -> list[dict[str, Any]]:
        """The message to a model whose final answer does not follow the schema; nothing if it does, or once asked."""
        if self.schema is None or self._is_asked_again:
            return []
        _, fault = self.check(text)
        if not fault:
            return []
        self._is_asked_again = True
        words = (
            f"Your answer does not follow the JSON schema. {fault}\nAnswer again with the corrected JSON value only."
        )
        return [{"type": "text", "text": words}]

    def outcome_of(self, text: str, why: str, turns: int) -> Outcome:
        """How a prompt was answered; an answer that ends well and does not follow the schema is invalid."""
        value, fault = self.check(text) if why == "end" else (None, "")
        return Outcome(text, "invalid_output" if fault else why, turns, value)

    def check(self, text: str) -> tuple[Any, str]:
        """The value of an answer, and what is wrong with it, if anything is."""
        if self.schema is None:
            return None, ""
        fenced = FENCED.fullmatch(text)
        try:
            value = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            return None, f"It is not JSON: {error}."
        faults = sorted(self._validator.iter_errors(value), key=lambda fault: list(map(str, fault.absolute_path)))
        lines = [f"- {_place(fault)}: {fault.message}" for fault in faults[:MOST_FAULTS]]
        return (None, "\n".join(["These values do not fit:", *lines])) if faults else (value, "")


def _place(fault: Any) -> str:
    return "/".join(map(str, fault.absolute_path)) or "the value"


def read_schema(path: Path, source: str) -> Mapping[str, Any]:
    """The schema in a file; a `SettingsError` says what is wrong with it."""
    try:
        raw = path.read_bytes()
        if len(raw) > LARGEST:
            raise SettingsError(f"{path} is larger than {LARGEST:,} bytes.", source=source)
        schema = json.loads(raw)
    except OSError as error:
        raise SettingsError(f"The schema {path} cannot be read: {error.strerror}.", source=source) from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"The schema {path} is not valid JSON: {error}.", source=source) from None
    if not isinstance(schema, dict):
        raise SettingsError(f"The schema {path} must be a JSON object.", source=source)
    return schema
