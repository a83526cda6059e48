"""What a skill inserts: the output of commands and the contents of files, each as a call that never asks anyone.

Such a call passes the whole pipeline: validation, hooks, rules, sandbox. Where it would need approval, or is denied,
the skill stops and says which rule would have to change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pegboard import JSON, Context, Decision, Deny, Result, ToolError
from pegboard.permission import WorkingDirectories
from pegboard_skill.arguments import ArgumentError, Arguments
from pegboard_skill.files_elsewhere import inserting
from pegboard_skill.pieces import files_in, pieces_of
from pegboard_skill.skill_file import Skill

MOST_COMMANDS, MOST_FILES = 20, 20
SHELLS = ("", "bash", "sh")
SHOWN = 120

_asked: ContextVar[list[Decision] | None] = ContextVar("what an insertion would have asked", default=None)


def refuse_to_ask(decision: Decision) -> Deny | None:
    """The answer to a question, if a skill inserts something just now: no one is asked, so no."""
    asked = _asked.get()
    if asked is None:
        return None
    asked.append(decision)
    return Deny(f"{decision.reason} A skill never asks about what it inserts.", layer="ask", rule=decision.rule)


@contextmanager
def _nobody_asked() -> Iterator[list[Decision]]:
    asked: list[Decision] = []
    token = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(token)


class Insertion:
    """The insertions of one use of a skill."""

    def __init__(self, skill: Skill, arguments: Arguments, ctx: Context) -> None:
        self._skill, self._arguments, self._ctx = skill, arguments, ctx
        self._commands = 0

    async def fill(self, body: str) -> str:
        """The text with its arguments, the output of its commands, and the files that it mentions at its end."""
        made: list[str] = []
        mentioned: dict[str, bool] = {}
        for piece in pieces_of(body):
            if piece.is_command:
                made.append(await self._insert(piece.text))
                continue
            text = self._arguments.put_into(piece.text)
            made.append(text)
            if not piece.is_code:
                own = files_in(piece.text)
                mentioned |= {path: path in own for path in files_in(text)}
        whole = "".join(made)
        if self._arguments.raw and not self._arguments.is_used:
            whole = f"{whole.rstrip()}\n\nARGUMENTS: {self._arguments.raw}"
        return whole + "".join([await self._file(path) for path in self._existing(mentioned)])

    async def _insert(self, template: str) -> str:
        command = self._filled(template)
        with inserting(self._arguments.values_in(template), self._skill.folder, self._arguments.known_in(template)):
            return await self._run(command.strip())

    def _require_inside(self, path: Path) -> None:
        if not WorkingDirectories.of(self._ctx).hold(os.path.realpath(path)):
            reason = f"the file {path}, which its arguments mention, is outside the working directories"
            raise self._stopped(f"{reason}. What a skill allows does not count for files that others name.")

    def _filled(self, command: str) -> str:
        try:
            return self._arguments.put_into_command(command)
        except ArgumentError as error:
            what = f"its command `{_short(command)}` was not run: its arguments contain {str(error)!r}"
            raise self._stopped(f"{what}, by which they would become a command. Leave it out.") from None

    async def _run(self, command: str) -> str:
        self._commands += 1
        self._check(command)
        result = await self._call("Bash", {"command": command}, f"its command `{_short(command)}`")
        value: Any = result.value
        code = getattr(value, "exit_code", 0)
        if code:
            raise self._stopped(f"its command `{_short(command)}` ended with exit code {code}. {_short(result.text)}")
        return str(getattr(value, "stdout", result.text)).rstrip("\n")

    def _check(self, command: str) -> None:
        skill, settings = self._skill, self._ctx.settings
        what = f"its command `{_short(command)}` was not run"
        if not skill.trusted:
            raise self._stopped(f"{what}: this project is not trusted. To trust it, run pegboard trust.")
        if settings.get("disableSkillShellExecution"):
            source = settings.holders("disableSkillShellExecution")[0].source_of("disableSkillShellExecution")
            raise self._stopped(f"{what}: disableSkillShellExecution is set in {source}.")
        if skill.head.shell not in SHELLS:
            raise self._stopped(f"{what}: there is no shell {skill.head.shell!r} here, only bash.")
        if self._commands > MOST_COMMANDS:
            raise self._stopped(f"{what}: it has more than {MOST_COMMANDS} commands.")

    def _existing(self, mentioned: dict[str, bool]) -> list[Path]:
        """The files among what is mentioned, by the text itself or (False) by way of its arguments."""
        found: list[Path] = []
        for path, is_own in mentioned.items():
            places = (self._ctx.resolve(path), Path(self._skill.folder, path))
            there = next((place for place in places if os.path.isfile(place)), None)
            if there and not is_own:
                self._require_inside(there)
            if there and there not in found:
                found.append(there)
        return found[:MOST_FILES]

    async def _file(self, path: Path) -> str:
        result = await self._call("Read", {"file_path": str(path)}, f"the file {path} that it mentions")
        return f"\n\nContents of {path}:\n\n{result.text}"

    async def _call(self, tool: str, given: JSON, what: str) -> Result:
        with _nobody_asked() as asked:
            result = await self._ctx.call(tool, given)
        if asked:
            reason = f"{what} needs approval, and a skill never asks. {asked[-1].reason}"
            raise self._stopped(f"{reason} {self._remedy(tool, given, asked[-1])}")
        if result.is_error:
            raise self._stopped(f"{what} failed. {result.text}")
        return result

    def _remedy(self, tool: str, given: JSON, decision: Decision) -> str:
        if decision.rule:
            return f"The rule {decision.rule} is in {decision.source}."
        subject = given.get("command") or given.get("file_path")
        return f"No rule allows it: add {tool}({subject}) to permissions.allow to use this skill."

    def _stopped(self, reason: str) -> ToolError:
        return ToolError(f"{self._skill.what} was stopped: {reason}", code="permission_denied")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
