"""The interpreters of one session: at most one for each language, started when it is first needed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio

from pegboard import Context
from pegboard_repl.captured import TAIL
from pegboard_repl.interpreter import Answer, Interpreter, NotBegunError
from pegboard_repl.interpreters import TITLES, Language

SERVICE = "repl"
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """Code that is to be run."""

    language: Language
    code: str
    seconds: float
    restart: bool = False


class Interpreters:
    """What `ctx.service("repl")` is."""

    def __init__(self) -> None:
        self._live: dict[Language, Interpreter] = {}
        self._locks: dict[Language, anyio.Lock] = {}
        self._remarks: dict[Language, str] = {}
        """How an interpreter ended that did not begin with its code."""
        self._recent, self._due = bytearray(), 0.0
        self._ctx: Context | None = None

    async def run(self, run: Run, ctx: Context) -> tuple[Answer, str]:
        """Run code in the interpreter of its language, and a remark if that is a new one."""
        async with self._locks.setdefault(run.language, anyio.Lock()):
            self._ctx, was_there = ctx, run.language in self._live and not run.restart
            try:
                return await self._run(run, ctx)
            except NotBegunError:
                if not was_there:
                    raise
                # It had ended unseen, between two calls.
                return await self._run(run, ctx)
            finally:
                self._ctx = None

    async def _run(self, run: Run, ctx: Context) -> tuple[Answer, str]:
        interpreter, remark = await self._ready(run, ctx)
        try:
            return await interpreter.run(run.code, run.seconds), remark
        except NotBegunError as error:
            self._remarks[run.language] = interpreter.why_ended
            raise error
        finally:
            if interpreter.why_ended:
                del self._live[run.language]
                await interpreter.close()

    def pid(self, language: Language) -> int | None:
        """The id of the process of an interpreter, if one runs."""
        found = self._live.get(language)
        return found.pid if found else None

    async def close(self) -> None:
        """End all of them."""
        while self._live:
            _, interpreter = self._live.popitem()
            await interpreter.close()

    async def _ready(self, run: Run, ctx: Context) -> tuple[Interpreter, str]:
        found, why = self._live.get(run.language), self._remarks.pop(run.language, "")
        if found and (run.restart or await found.has_ended()):
            del self._live[run.language]
            why = "" if run.restart else found.why_ended
            await found.close()
        elif found:
            return found, ""
        made = self._live[run.language] = await Interpreter.start(run.language, ctx, self._report)
        remark = f"{why} A new {TITLES[run.language]} was started: variables and imports are gone.".lstrip()
        return made, remark if found or why else ""

    def _report(self, chunk: bytes) -> None:
        """Show the last line that was printed, as a sign of life, a few times a second."""
        now = time.monotonic()
        if self._ctx is None or self._ctx.on_progress is None or now < self._due:
            return
        self._due = now + PAUSE
        self._recent += chunk[-TAIL:]
        del self._recent[:-TAIL]
        lines = self._recent.replace(b"\0", b"").decode("utf-8", "replace").splitlines()
        if lines:
            self._ctx.report(lines[-1][:200])
