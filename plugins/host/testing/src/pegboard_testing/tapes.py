"""Record what tools return, and play it back without running them: for tests around a slow or remote tool."""

from __future__ import annotations

import base64
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pegboard import Change, Context, Input, Output, Tool, ToolError, canonical, hookimpl, jsonable

Execute = Callable[[Any, Context], Awaitable[Any]]
CWD = "{cwd}"
BYTES = "$base64"


class Tape:
    """The calls of a whole test run, a JSON object per line; each test has a track of its own."""

    def __init__(self, path: Path, *, recording: bool) -> None:
        self.path, self.recording = path, recording
        self.lines: list[dict[str, Any]] = []
        self._waiting: dict[tuple[str, str, str], deque[dict[str, Any]]] = defaultdict(deque)
        for text in () if recording else path.read_text("utf-8").splitlines():
            line = json.loads(text)
            self._waiting[_key(line)].append(line)

    def track(self, test: str) -> Track:
        """The part of the tape that belongs to one test."""
        return Track(self, test)

    def take(self, wanted: dict[str, Any]) -> dict[str, Any] | None:
        """The next recording of this very call, or None."""
        waiting = self._waiting.get(_key(wanted))
        return waiting.popleft() if waiting else None

    def save(self) -> None:
        """Write what was recorded, sorted by test, so that the order of tests does not matter."""
        ordered = sorted(self.lines, key=lambda line: str(line["test"]))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(canonical(line) + b"\n" for line in ordered))


class Track:
    """A plugin for the board of one test."""

    def __init__(self, tape: Tape, test: str) -> None:
        self.tape, self.test = tape, test
        self.misses: list[str] = []

    @hookimpl
    def wrap_execute(self, tool: Tool[Any, Any], execute: Execute) -> Execute:
        """Record the act, or play it instead."""

        async def record(args: Input, ctx: Context) -> Any:
            line = self._line(tool, args, ctx)
            try:
                returned = await execute(args, ctx)
            except ToolError as error:
                failure = {"message": error.message, "code": error.code, "remedy": error.remedy}
                value = None if error.value is None else _dumped(tool, error.value)
                told = {"error": failure, "value": value, **_change_line(error.change)}
                self.tape.lines.append({**line, **_hide(told, ctx)})
                raise
            self.tape.lines.append({**line, **_written(tool, returned, ctx)})
            return returned

        async def play(args: Input, ctx: Context) -> Any:
            line = self._line(tool, args, ctx)
            found = self.tape.take(line)
            if found is None:
                reason = (
                    f"{self.tape.path} has no call to {tool.name} with {json.dumps(line['input'])} "
                    "left in the recording for this test."
                )
                self.misses.append(f"{reason} Record it again with --pegboard-record.")
                raise ToolError(self.misses[-1], code="internal")
            return _read(tool, found, ctx)

        return record if self.tape.recording else play

    def _line(self, tool: Tool[Any, Any], args: Input, ctx: Context) -> dict[str, Any]:
        given = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return {"test": self.test, "tool": tool.name, "input": _hide(given, ctx)}


def _key(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["test"], line["tool"], canonical(line["input"]).decode()


def _written(tool: Tool[Any, Any], returned: Any, ctx: Context) -> dict[str, Any]:
    whole = returned if isinstance(returned, Output) else Output(returned)
    value = _dumped(tool, whole.value)
    line = {"value": value, "messages": list(whole.messages), "metadata": dict(whole.metadata)}
    hidden: dict[str, Any] = _hide({**line, **_change_line(whole.change)}, ctx)
    return hidden


def _dumped(tool: Tool[Any, Any], value: Any) -> Any:
    return _plain(TypeAdapter[Any](tool.output).dump_python(value))


def _change_line(change: Change | None) -> dict[str, Any]:
    if change is None:
        return {}
    return {"change": {**asdict(change), "cwd": str(change.cwd) if change.cwd else None}}


def _read(tool: Tool[Any, Any], line: dict[str, Any], ctx: Context) -> Any:
    line = _show(line, ctx)
    change = line.get("change")
    if change:
        cwd = Path(change["cwd"]) if change["cwd"] else None
        change = Change(cwd, change["mode"], tuple(change["loaded_tools"]))
    error, value = line.get("error"), line.get("value")
    if value is not None or not error:
        value = TypeAdapter[Any](tool.output).validate_python(_with_bytes(value))
    if error:
        raise ToolError(error["message"], code=error["code"], remedy=error["remedy"], value=value, change=change)
    return Output(value, change=change, messages=line["messages"], metadata=line["metadata"])


def _plain(value: Any) -> Any:
    """What JSON can hold and `_read` can turn back: bytes are marked, everything else is spelled out."""
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(jsonable(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    return jsonable(value)


def _with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {BYTES}:
            return base64.b64decode(value[BYTES])
        return {key: _with_bytes(inner) for key, inner in value.items()}
    return [_with_bytes(inner) for inner in value] if isinstance(value, list) else value


def _hide(value: Any, ctx: Context) -> Any:
    """A test's temporary folder has another name every time."""
    return _replaced(value, str(ctx.cwd), CWD)


def _show(value: Any, ctx: Context) -> Any:
    return _replaced(value, CWD, str(ctx.cwd))


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: _replaced(inner, old, new) for key, inner in value.items()}
    return [_replaced(inner, old, new) for inner in value] if isinstance(value, (list, tuple)) else value
