"""What every tool promises about its definition and its input. A check that fails raises a sentence."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from pegboard import Facts, Input, ToolError, canonical
from pegboard.hosting import maybe_await, validate
from pegboard_testing import subprocess_check as elsewhere
from pegboard_testing.case import PATIENCE, BrokenPromiseError, ToolUnderTest
from pegboard_testing.harness import Stand, stand
from pegboard_testing.strategies import wrong_values
from pegboard_testing.trees import changed, snapshot
from pegboard_testing.watch import within

SHORTEST_PROMPT = 15
SECRET = re.compile(r"(^|_)(password|passwd|secret|token|api_?key|credentials?|private_?key)$", re.I)
MARK = "s3cr3t-m4rk"


def prompt(subject: ToolUnderTest) -> None:
    """The model can read what the tool is for."""
    words = subject.tool.prompt.strip()
    if len(words) < SHORTEST_PROMPT:
        raise BrokenPromiseError(f"The prompt is {words!r}. Write a docstring that tells a model when to use the tool.")


def schema(subject: ToolUnderTest) -> None:
    """Input that fits the schema is accepted, and accepted input can be serialized and read again."""
    tool = subject.tool
    if json.loads(tool.definition_bytes) != tool.definition or canonical(tool.definition) != tool.definition_bytes:
        raise BrokenPromiseError("The definition changes when it is written as JSON and read back.")
    for given in subject.given:
        _take(subject, given)
    if not subject.accepted:
        raise BrokenPromiseError(
            f"{_why_refused(subject)} Make the schema match what the input accepts, or add examples."
        )
    for given, args in subject.accepted:
        again = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if _secret_fields(subject):
            continue  # A secret is written down as stars on purpose.
        if _take(subject, again) != args:
            raise BrokenPromiseError(
                f"{given!r} is accepted and written as {again!r}, but read back as something else."
            )


def _why_refused(subject: ToolUnderTest) -> str:
    try:
        _take(subject, subject.inputs[0])
    except BrokenPromiseError as error:
        return f"None of {len(subject.inputs)} inputs generated from the schema is accepted. The first error: {error}"
    return f"validate_input refuses all {len(subject.inputs)} inputs generated from the schema."


def _take(subject: ToolUnderTest, given: dict[str, Any]) -> object:
    try:
        return validate(subject.tool.name, subject.tool.input, given)[0]
    except ToolError as error:
        raise BrokenPromiseError(f"{given!r} is refused: {error}") from None


def stable(subject: ToolUnderTest) -> None:
    """The definition has the same bytes in every process: a request that differs is paid for twice."""
    try:
        others = elsewhere.definitions(subject.tool)
    except LookupError as error:
        raise BrokenPromiseError(f"The definition cannot be compared: {error}") from None
    if any(other != subject.tool.definition_bytes for other in others):
        raise BrokenPromiseError("The definition differs between processes. Look for sets, times and ids in it.")


def unknown_key(subject: ToolUnderTest) -> None:
    """An unknown key is refused by name, because it is a misunderstanding."""
    for given, _ in subject.accepted[:5]:
        try:
            validate(subject.tool.name, subject.tool.input, {**given, "no_such_key": 1})
        except ToolError as error:
            if "no_such_key" in str(error):
                continue
            raise BrokenPromiseError(f"An unknown key is refused, but the message does not name it: {error}") from None
        raise BrokenPromiseError("An unknown key is silently ignored. Keep extra='forbid', the default of Input.")


def wrong_type(subject: ToolUnderTest) -> None:
    """A value of the wrong type is refused with a sentence that names the field."""
    properties: dict[str, Any] = subject.tool.input_schema.get("properties", {})
    base = subject.accepted[0][0] if subject.accepted else {}
    for name, inner in properties.items():
        for value in wrong_values(inner):
            try:
                validate(subject.tool.name, subject.tool.input, {**base, name: value})
            except ToolError as error:
                if name in str(error):
                    continue
                raise BrokenPromiseError(
                    f"{name}={value!r} is refused, but the message does not name {name}: {error}"
                ) from None
            except Exception as error:
                raise BrokenPromiseError(
                    f"{name}={value!r} crashes instead of being refused: {type(error).__name__}."
                ) from None
            raise BrokenPromiseError(f"{name}={value!r} is accepted, although the schema says {json.dumps(inner)}.")


def null(subject: ToolUnderTest) -> None:
    """Null means absent: it is accepted for optional fields and refused for required ones."""
    tool = subject.tool
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    required = set(tool.input_schema.get("required", ()))
    for given, args in subject.accepted[:5]:
        for name in properties:
            without = {key: value for key, value in given.items() if key != name}
            try:
                taken = validate(tool.name, tool.input, {**without, name: None})[0]
            except ToolError as error:
                if name not in required and _takes(subject, without):
                    raise BrokenPromiseError(f"{name} is optional, but null is refused: {error}") from None
                continue
            except Exception as error:
                raise BrokenPromiseError(f"{name}=null crashes: {type(error).__name__}: {error}") from None
            if name in required:
                raise BrokenPromiseError(
                    f"The schema requires {name}, but null is accepted. Give the field a default, or do not allow None."
                )
            if _takes(subject, without) and taken != validate(tool.name, tool.input, without)[0]:
                raise BrokenPromiseError(
                    f"{name}=null has a different effect from leaving {name} out. The input was {args!r}."
                )


def _takes(subject: ToolUnderTest, given: dict[str, Any]) -> bool:
    try:
        validate(subject.tool.name, subject.tool.input, given)
    except ToolError:
        return False
    return True


def secrets(subject: ToolUnderTest) -> None:
    """No secret appears in a repr, because reprs end up in logs."""
    tool = subject.tool
    for name in _secret_fields(subject):
        for given, _ in subject.accepted:
            if not isinstance(given.get(name), str):
                continue
            try:
                args, _ = validate(tool.name, tool.input, {**given, name: MARK})
            except ToolError:
                continue
            if MARK in repr(args):
                raise BrokenPromiseError(f"repr(args) shows {name}. Make it a SecretStr, or Field(repr=False).")
    shown = f"{tool!r} {vars(tool)!r} {tool.definition_bytes.decode()}"
    for variable, value in os.environ.items():
        if SECRET.search(variable) and len(value) >= 8 and value in shown:
            raise BrokenPromiseError(
                f"The tool stores and shows the value of {variable}. Read the variable when it is needed."
            )


def _secret_fields(subject: ToolUnderTest) -> list[str]:
    return [name for name in subject.tool.input_schema.get("properties", {}) if SECRET.search(name)]


def facts(subject: ToolUnderTest) -> None:
    """The tool says what a call would do for every input, the same way twice, without doing it."""
    within(PATIENCE, _facts, subject)


async def _facts(subject: ToolUnderTest) -> None:
    refusal, told = "", 0
    async with stand(subject.case) as place:
        before = snapshot(place.folder)
        for given, args in subject.accepted:
            first, second = [await _ask(subject, given, args, place) for _ in range(2)]
            if first != second:
                raise BrokenPromiseError(f"facts returns something different for {given!r} the second time.")
            if isinstance(first, str):
                refusal = refusal or first
                continue
            told += 1
            if first.destructive and first.read_only:
                raise BrokenPromiseError(f"facts declares {given!r} both read-only and destructive.")
        if touched := changed(before, snapshot(place.folder)):
            raise BrokenPromiseError(f"facts changed {', '.join(touched)}. It must only describe what a call would do.")
    if refusal and not told:
        raise BrokenPromiseError(f"facts refuses every input. The first error: {refusal}")


async def _ask(subject: ToolUnderTest, given: dict[str, Any], args: Input, place: Stand) -> Facts | str:
    """The facts, or the sentence with which the call is refused before any question is asked."""
    try:
        found: object = await maybe_await(subject.tool.facts(args, place.ctx))
    except ToolError as error:
        return str(error)
    except Exception as error:
        raise BrokenPromiseError(f"facts fails for {given!r}: {type(error).__name__}: {error}") from None
    if not isinstance(found, Facts):
        raise BrokenPromiseError(f"facts returns {type(found).__name__}. It must return Facts.")
    return found
