"""Scripts that are played."""

import pytest

from pegboard import (
    ProviderError,
)
from pegboard_session import ReplayProvider, Session

from .scripts import turn, use


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "script.jsonl:1: this is not valid JSON"),
        ("[]", 'turn 1: expected {"content": [...]}'),
        ('{"content": [{"type": "text"}]}', "a text block needs text"),
        ('{"content": [{"type": "tool_use", "name": "X"}]}', "a tool_use block needs a name and an input object"),
        ('{"content": [{}]}', "every block needs a type"),
        ('{"content": [], "chunk_ms": -1}', "chunk_ms must be a number of milliseconds"),
        ('{"content": [], "chunk_ms": 1e400}', "chunk_ms must be a number of milliseconds"),
        ('{"content": [], "chunk_ms": NaN}', "chunk_ms must be a number of milliseconds"),
        ('{"content": [], "usage": {"output_tokens": "x"}}', "usage must be an object of whole numbers"),
        ('{"content": [], "usage": 7}', "usage must be an object of whole numbers"),
        ('{"content": [], "stop_reason": 7}', "stop_reason must be text"),
        ('{"content": [{"type": "tool_use", "name": "X", "input": {}, "id": 7}]}', "the id of a tool_use block"),
        ('{"content": [{"type": "x", "n": NaN}]}', "nan is not a number in JSON"),
        ('{"content": [{"type": "tool_result", "tool_use_id": "a"}]}', "a model does not write tool_result blocks"),
        ("[" * 100_000, "script.jsonl:1: this is nested too deeply"),
    ],
)
def test_a_broken_script_is_explained(tmp_path, line, words):
    (tmp_path / "script.jsonl").write_text(line)
    with pytest.raises(ProviderError) as caught:
        ReplayProvider.from_file(tmp_path / "script.jsonl")
    assert words in str(caught.value)


async def test_a_script_that_is_too_short_says_so(board):
    async with Session(board, ReplayProvider([turn(use("Echo"))])) as session:
        with pytest.raises(ProviderError, match="has 1 turn, but the session needs another"):
            await session.run("Go")


async def test_a_line_separator_of_unicode_in_a_script_is_text(board, tmp_path):
    (tmp_path / "script.jsonl").write_text('{"content": [{"type": "text", "text": "one\u2028two"}]}\n', "utf-8")
    async with Session(board, ReplayProvider.from_file(tmp_path / "script.jsonl")) as session:
        assert (await session.run("Go")).text == "one\u2028two"
