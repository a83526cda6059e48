"""A handler of type `agent`: a sub-agent that reads is the judge of an event."""

from __future__ import annotations

import json

import pytest

from pegboard_session import ReplayProvider, Session

from .agents import _at_home, make_board, text, turn, use, watching

__all__ = ["_at_home", "watching"]

HOOKS = {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "agent", "prompt": "May it be read? $ARGUMENTS"}]}]}


@pytest.mark.parametrize("verdict", ['{"ok": true}', '{"ok": false, "reason": "It is secret."}'])
async def test_an_agent_reads_and_decides(tmp_path, watching, verdict):
    (tmp_path / "a.txt").write_text("The content.")
    board = make_board(tmp_path, watching, hooks=HOOKS)
    script = [turn(use("Read", file_path="a.txt")), turn(text("Done."))]
    judge = [{"agent": "hook", **turn(use("Read", file_path="a.txt"))}, {"agent": "hook", **turn(text(verdict))}]
    provider = ReplayProvider([*script, *judge])
    async with Session(board, provider) as session:
        await session.run("Go")
    said = json.dumps(session.messages[2])
    assert ("The content." in said) is ("true" in verdict)
    assert ("It is secret." in said) is ("false" in verdict)
    [child] = provider.children
    assert "The content." in json.dumps(child.requests[1].messages)
    assert child.requests[0].messages[0]["content"][-1]["text"].startswith('May it be read? {"session_id"')
