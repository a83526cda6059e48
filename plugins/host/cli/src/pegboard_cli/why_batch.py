"""`pegboard why --batch`: one call per input line, one decision per output line, one board for all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import Board, Call, Context, PegboardError, ToolError
from pegboard_cli import options
from pegboard_cli.explanation import explain
from pegboard_cli.main import OK, USAGE
from pegboard_cli.signals import run_stoppable
from pegboard_cli.why_command import as_data, showing_all

if TYPE_CHECKING:
    import argparse

    from pegboard import Settings

KEYS = ("decision", "layer", "rule", "source", "reason", "read_only", "concurrency_safe")
FIELDS: dict[str, type | tuple[type, ...]] = {"tool": str, "input": (dict, str), "cwd": str, "mode": str}
SHAPING = ("disable", "only", "prefer", "strict", "safeMode", "availableTools", "excludedTools")
"""Settings that decide which tools there are: folders that agree on them share a board."""


class Boards:
    """A board and a context for each folder, made once."""

    def __init__(self, given: argparse.Namespace, settings: Settings) -> None:
        self._given = given
        self._boards: dict[str, Board] = {}
        self._contexts: dict[tuple[str, str | None], tuple[Board, Context]] = {}
        self._settings = {settings.cwd: settings}
        self._base = settings.cwd

    def at(self, cwd: str | None, mode: str | None) -> tuple[Board, Context]:
        """The board and the context for calls in a folder; its project's settings apply."""
        folder = os.path.abspath(os.path.join(self._base, cwd)) if cwd is not None else self._base
        known = self._contexts.get((folder, mode))
        if known is None:
            settings = self._load(folder)
            board = self._board(settings)
            if mode is not None and mode not in board.hooks.modes:
                raise ToolError(f"There is no mode {mode!r}. Use one of {', '.join(board.hooks.modes)}.")
            chosen = mode or board.hooks.modes.starting(settings)[0]
            ctx = board.context(cwd=Path(folder), settings=settings, mode=chosen)
            known = self._contexts[folder, mode] = (board, ctx)
        return known

    def _load(self, folder: str) -> Settings:
        if folder not in self._settings:
            self._settings[folder] = options.settings_at(folder, self._given)
        self._settings[folder].require_sound()
        return self._settings[folder]

    def _board(self, settings: Settings) -> Board:
        shape = json.dumps([settings.get(key) for key in SHAPING], sort_keys=True)
        if shape not in self._boards:
            self._boards[shape] = Board.load(settings=showing_all(settings))
        return self._boards[shape]


def judge_all(given: argparse.Namespace, settings: Settings) -> int:
    """Judge every line; one that cannot be judged is answered with an error and spoils only the exit code."""
    boards = Boards(given, settings)
    if given.batch == "-":
        return run_stoppable(_judge_lines, sys.stdin.buffer, boards)
    with open(given.batch, "rb") as lines:
        return run_stoppable(_judge_lines, lines, boards)


async def _judge_lines(lines: Iterable[bytes], boards: Boards) -> int:
    code = OK
    for line in lines:
        if not line.strip():
            continue
        try:
            answer = await _judge(parse_line(line), boards)
        except PegboardError as error:
            answer, code = {"error": str(error)}, USAGE
        except Exception as error:  # A broken plugin spoils its own lines, not the batch.
            answer, code = {"error": f"{type(error).__name__}: {error}"}, USAGE
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    return code


async def _judge(wanted: dict[str, Any], boards: Boards) -> dict[str, Any]:
    board, ctx = boards.at(wanted.get("cwd"), wanted.get("mode"))
    found = as_data(await explain(Call("why", wanted["tool"], wanted["input"]), ctx, board))
    answer = {key: found[key] for key in KEYS}
    return {**answer, "not_run": found["not_run"]} if found["not_run"] else answer


def parse_line(line: bytes) -> dict[str, Any]:
    """A line of the batch, or a sentence about what is wrong with it."""
    try:
        wanted = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"This line is not valid JSON: {error}.") from None
    if not isinstance(wanted, dict):
        raise ToolError('A line must be an object such as {"tool": "Read", "input": {"file_path": "a"}}.')
    wanted = {key: value for key, value in wanted.items() if key in FIELDS and value is not None}
    for key, kind in FIELDS.items():
        if key in ("tool", "input") and key not in wanted:
            raise ToolError(f"The line has no {key!r}.")
        if key in wanted and not isinstance(wanted[key], kind):
            raise ToolError(f"{key!r} has the wrong type: {type(wanted[key]).__name__}.")
    return wanted
