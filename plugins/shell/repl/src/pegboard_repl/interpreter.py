"""One interpreter that runs, and the conversation with it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import anyio

from pegboard import Context, ToolError
from pegboard_processes import OpenProcess, ProcessExit
from pegboard_repl.captured import Captured
from pegboard_repl.interpreters import TITLES, Language, specification

GRACE, SHORT_GRACE = 2.0, 1.0
"""Seconds that code has to end when it is interrupted after its time, and when its call is cancelled; then its process
is ended."""
AFTER = 5.0
"""Seconds to wait for the rest of the output when the answer has come."""
START = 60.0
"""Seconds that an interpreter may take until it begins with its code."""
LONGEST_ANSWER = 64 * 1024 * 1024
LOST = "Its variables are lost; the next call starts a new process."


class NotBegunError(ToolError):
    """The interpreter ended before it began with the code, so the code can be given to another one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an interpreter says about one run."""

    pieces: list[dict[str, str]]
    error: str
    output: str
    output_bytes: int
    timed_out: bool = False


class Interpreter:
    """A process that runs code. It is used by one call at a time."""

    def __init__(self, language: Language, process: OpenProcess, captured: Captured, exits: AsyncExitStack) -> None:
        self.language: Language = language
        self._title = TITLES[language]
        self._process, self._captured, self._exits = process, captured, exits
        self.why_ended = ""
        """How it came to its end, as a sentence; empty while it runs."""

    @classmethod
    async def start(cls, language: Language, ctx: Context, on_output: Callable[[bytes], None]) -> Interpreter:
        """Start one. It ends with the session at the latest."""
        captured, exits = Captured(), AsyncExitStack()

        def hear(chunk: bytes) -> None:
            captured(chunk)
            on_output(chunk)

        idle = float(ctx.settings.get("repl.idleSeconds"))
        opened = ctx.processes.open(specification(language, ctx), on_error=hear, grace=1.0, idle=idle)
        return cls(language, await exits.enter_async_context(opened), captured, exits)

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    async def has_ended(self) -> bool:
        """Whether it has ended since its last run."""
        with anyio.move_on_after(0.001):
            self.why_ended = self.why_ended or self._how(await self._process.wait())
        return bool(self.why_ended)

    async def run(self, code: str, seconds: float) -> Answer:
        """Run code; after so many seconds it is interrupted, and ended if it does not stop then."""
        token = secrets.token_hex(16)
        try:
            await self._begin(code, token)
            with anyio.move_on_after(seconds):
                return await self._answer(token)
            return await self._interrupt(token, seconds)
        except anyio.get_cancelled_exc_class():
            # The variables are worth a moment: code that stops when it is asked to leaves the interpreter usable.
            with anyio.CancelScope(shield=True):
                await self._stop(token, SHORT_GRACE)
            raise

    async def _begin(self, code: str, token: str) -> None:
        """Hand over the code, and wait until the interpreter says that it has it: from here on it may have run."""
        self._captured.begin(token)
        with anyio.move_on_after(START):
            try:
                await self._process.send(_line(run=code, token=token))
                begun = _read(await self._process.receive_until(b"\n", LONGEST_ANSWER))
            except ToolError as error:
                raise NotBegunError((await self._over(error)).message, code="failed", remedy="") from error
            if begun is None or begun["token"] != token:
                raise await self._forged()
            return
        self.why_ended = f"{self._title} did not start within {START:g} s."
        raise NotBegunError(f"{self.why_ended} {self._captured.take()[0]}".rstrip(), code="timeout", remedy="")

    async def close(self) -> None:
        """End it and all that it started."""
        self.why_ended = self.why_ended or f"{self._title} was closed."
        with anyio.CancelScope(shield=True):
            await self._exits.aclose()

    async def _interrupt(self, token: str, seconds: float) -> Answer:
        answer = await self._stop(token, GRACE)
        if answer is not None:
            return Answer(answer.pieces, answer.error, answer.output, answer.output_bytes, timed_out=True)
        self.why_ended = f"The code timed out after {seconds:g} s, did not stop when interrupted, and was killed."
        raise self._failure("timeout")

    async def _stop(self, token: str, grace: float) -> Answer | None:
        """Interrupt a run and wait for its answer; None where the process had to be ended."""
        with anyio.move_on_after(grace):
            try:
                await self._process.send(_line(interrupt=token))
                return await self._answer(token)
            except ToolError:
                pass
        self.why_ended = self.why_ended or "The code was cancelled, did not stop when interrupted, and was killed."
        await self._process.kill()
        return None

    async def _answer(self, token: str) -> Answer:
        said: dict[str, Any] = {}
        while "pieces" not in said:  # A call that is cancelled early has not read yet that its code has begun.
            try:
                read = _read(await self._process.receive_until(b"\n", LONGEST_ANSWER))
            except ToolError as error:
                raise await self._over(error) from error
            if read is None or read["token"] != token:
                raise await self._forged()
            said = read
        with anyio.move_on_after(AFTER):
            await self._captured.ended.wait()
        output, size = self._captured.take()
        return Answer(said["pieces"], said.get("error", ""), output, size)

    async def _forged(self) -> ToolError:
        """Only code that went looking for the channel can have written this, so nothing in it can be believed."""
        self.why_ended = f"The code wrote to the channel between {self._title} and Pegboard, so it was ended."
        await self._process.kill()
        return self._failure("failed")

    async def _over(self, error: ToolError) -> ToolError:
        if error.code == "too_large":
            self.why_ended = f"The result is larger than {LONGEST_ANSWER:,} bytes, so {self._title} was ended."
            await self._process.kill()
            return self._failure("too_large")
        with anyio.move_on_after(1.0):
            self.why_ended = self.why_ended or self._how(await self._process.wait())
        if not self.why_ended:
            self.why_ended = f"The code closed the channel between {self._title} and Pegboard, so it was ended."
        await self._process.kill()
        return self._failure("failed")

    def _failure(self, code: str) -> ToolError:
        output, _ = self._captured.take()
        return ToolError(f"{self.why_ended} {LOST}\n{output}".rstrip(), code=code, remedy="")

    def _how(self, ended: ProcessExit) -> str:
        if ended.out_of_memory:
            return f"{self._title} was ended because it ran out of memory."
        how = f"ended with exit code {ended.code}" if ended.code is not None else f"was ended by {ended.signal}"
        return f"{self._title} {how}."


def _line(**message: str) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict) or not isinstance(said.get("token"), str):
        return None
    pieces, error = said.get("pieces", []), said.get("error", "")
    fine = isinstance(error, str) and isinstance(pieces, list)
    return (
        said if fine and all(isinstance(piece, dict) and {"kind", "data"} <= set(piece) for piece in pieces) else None
    )
