"""Reports that are data: ask for JSON, check it against a schema, say what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pegboard import ToolError

FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)
LONGEST = 500


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that nothing could be checked against."""
    # Imported here because few calls have a schema, and the library is large.
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ToolError(f"output_schema is not a JSON Schema: {error.message[:LONGEST]}.") from None


def asking(prompt: str, schema: Mapping[str, Any]) -> str:
    """The prompt with the wish for JSON."""
    wish = "Your last message must be one JSON value that matches this JSON Schema, and nothing else:"
    return f"{prompt}\n\n{wish}\n{json.dumps(schema, ensure_ascii=False)}"


def asking_again(fault: str) -> str:
    """The second try."""
    return f"Your answer does not match the schema: {fault}\nAnswer with the corrected JSON value and nothing else."


def parse(text: str, schema: Mapping[str, Any]) -> tuple[Any, str]:
    """The value and an empty fault, or None and the fault."""
    from jsonschema import Draft202012Validator  # Late for the same reason as above.

    fenced = FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except ValueError as error:
        return None, f"this is not JSON: {error}."
    except RecursionError:
        return None, "the JSON is nested too deeply."
    faults = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda fault: fault.json_path)
    if not faults:
        return value, ""
    return None, "; ".join(f"{fault.json_path}: {fault.message[:LONGEST]}" for fault in faults[:3])
