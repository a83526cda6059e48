"""The conversation on disk: what is written, and what comes back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pegboard_files
import pegboard_processes
from pegboard import (
    Board,
    ProviderError,
)
from pegboard.errors import PegboardError
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Session, Transcript, restore
from pegboard_session.transcript import read

from .scripts import Echo, Faulty, quick, text, turn, use


async def test_a_transcript_restores_the_conversation(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = ReplayProvider([turn(text("Look."), use("Mutate", "a", text="x")), turn(text("Done."))])
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    restored = restore(path)
    assert restored.messages == session.messages
    assert restored.changes[-1].mode == "plan"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_every_beginning_of_a_transcript_can_be_resumed(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = ReplayProvider(
        [
            turn(text("Look."), use("Echo", "a", text="x"), use("Echo", "b", text="y")),
            turn(use("Echo", "c")),
            turn(text("Done.")),
        ]
    )
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    whole = path.read_bytes()
    for end in range(len(whole)):
        part = tmp_path / "part.jsonl"
        part.write_bytes(whole[:end])
        messages = restore(part).messages
        for place, before in enumerate(messages):
            after = messages[place + 1] if place + 1 < len(messages) else None
            asked = [b["id"] for b in before["content"] if b["type"] == "tool_use"]
            if asked:
                assert after is not None
                assert [b["tool_use_id"] for b in after["content"] if b["type"] == "tool_result"] == asked
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
            len(messages) % 2
        )


def test_writing_after_a_crash_does_not_glue_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"type":"user","content":[]}\n{"type":"blo')
    transcript = Transcript(path)
    transcript.write("user", content=[text("x")])
    transcript.close()
    assert [entry["type"] for entry in read(path)] == ["user", "user"]


async def test_a_discarded_answer_is_not_restored(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = Faulty(
        [turn(text("Hello"), use("Mutate", "a", text="x")), turn(text("end"))],
        {0: (3, ProviderError("busy", retryable=True))},
    )
    async with Session(board, provider, retries=quick(), transcript=Transcript(path)) as session:
        await session.run("Go")
    assert restore(path).messages == session.messages


async def test_results_beyond_the_budget_of_a_turn_are_saved(watching, tmp_path):
    settings = Settings([Layer("user", "t", {"resultBudgetChars": 20_000})], cwd=str(tmp_path))
    made = Board(
        settings, [], plugins=[watching, pegboard_files, pegboard_processes], tools=[Echo], env={"HOME": str(tmp_path)}
    )
    calls = [use("Echo", str(i), text=str(i) * 9000) for i in range(4)]
    path = tmp_path / "t.jsonl"
    async with Session(made, ReplayProvider([turn(*calls), turn(text("end"))]), transcript=Transcript(path)) as session:
        await session.run("Go")
    said = [block["content"][0]["text"] for block in session.messages[2]["content"]]
    assert sum(map(len, said)) <= 20_000
    assert restore(path).messages == session.messages
    saved = next(words for words in said if len(words) < 9000)
    [file] = [Path(word.strip(".:")) for word in saved.split() if word.startswith(str(tmp_path))][:1]
    assert len(file.read_text()) == 9000


def test_a_session_that_is_open_elsewhere_is_not_written_to(tmp_path):
    path = tmp_path / "abc.jsonl"
    first = Transcript(path)
    with pytest.raises(PegboardError, match="The session abc is open in another process"):
        Transcript(path)
    first.close()
    Transcript(path).close()


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "7",
        '{"no": "type"}',
        '{"type":"user"}',
        '{"type":"user","content":[7]}',
        '{"type":"block","block":{"type":"tool_use"}}',
        '{"type":"result","block":{"type":"tool_result"}}',
        '{"type":"change","mode":["everything"]}',
        '{"type":"change","cwd":7}',
        "[" * 100_000,
    ],
)
def test_a_forged_line_of_a_transcript_is_named(tmp_path, line):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"type":"user","content":[]}}\n{line}\n')
    with pytest.raises(PegboardError, match=r"t\.jsonl:2: .* cannot be resumed"):
        restore(path)


def test_a_discarded_answer_leaves_what_was_said_before_a_pause(tmp_path):
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path)
    transcript.write("user", content=[text("go")])
    transcript.write("block", block=text("kept"))
    transcript.write("block", block=text("dropped"))
    transcript.write("discarded", reason="cut", blocks=1)
    transcript.close()
    assert restore(path).messages[1]["content"] == [text("kept")]


async def test_a_full_disk_ends_the_transcript_and_not_the_conversation(watching, board, tmp_path):
    provider = ReplayProvider([turn(use("Echo", "a", text="hi")), turn(text("done"))])
    transcript = Transcript(tmp_path / "t.jsonl")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, transcript._file.fileno())
    os.close(full)
    async with Session(board, provider, transcript=transcript) as session:
        assert (await session.run("go")).text == "done"
    assert [data["message"] for data in watching.of("notice")] == [
        "The conversation is no longer saved: No space left on device."
    ]


LARGE = """
import sys, resource
from pathlib import Path
from pegboard_session import Transcript, restore
def read_so_far():
    return int(Path("/proc/self/io").read_text().split()[1])
path = Path(sys.argv[1])
base, before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, read_so_far()
transcript = Transcript(path)
restored = restore(path)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(restored.messages), read_so_far() - before, (after - base) * 1024)
"""


def test_a_long_transcript_is_read_once_and_only_what_is_kept_stays_in_memory(tmp_path):
    path = tmp_path / "t.jsonl"
    long, short = "x" * 1_000_000, "y" * 1_000
    with path.open("w") as file:
        file.write('{"type":"user","content":[{"type":"text","text":"go"}]}\n')
        for number in range(60):
            call = {"type": "tool_use", "id": f"c{number}", "name": "Echo", "input": {}}
            file.write(json.dumps({"type": "block", "block": call}) + "\n")
            for words in (long, short):  # The second is the shorter form that was sent.
                block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [text(words)]}
                file.write(json.dumps({"type": "result", "block": block}) + "\n")
    size = path.stat().st_size
    argv = [sys.executable, "-c", LARGE, str(path)]
    run = subprocess.run(argv, capture_output=True, text=True, check=True)
    messages, read_bytes, grown = map(int, run.stdout.split())
    assert messages == 121
    assert size <= read_bytes < 1.1 * size
    assert grown < size / 3


BROKEN_LINES = {
    "a usage that is none": '{"type":"usage","requests":"many"}',
    "a cost that is no number": '{"type":"usage","requests":1,"tokens":{},"tools":{},"cost":"x","priced":0}',
    "a result that is a number": '{"type":"result","block":{"type":"tool_result","tool_use_id":"a","content":7}}',
    "a result that holds a number": '{"type":"result","block":{"type":"tool_result","tool_use_id":"a","content":[7]}}',
    "a call without an input": '{"type":"block","block":{"type":"tool_use","id":"a","name":"b"}}',
    "news that say nothing": '{"type":"news"}',
    "a change of tools that are numbers": '{"type":"change","loaded_tools":[[1]]}',
    "a deep block": '{"type":"block","block":{"type":"x","y":' + "[" * 400 + "]" * 400 + "}}",
    "a type that is no text": '{"type":"block","block":{"type":7}}',
}


@pytest.mark.parametrize("line", BROKEN_LINES.values(), ids=BROKEN_LINES)
def test_a_broken_line_is_an_error_that_says_so(tmp_path, line):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"type":"user","content":[]}}\n{line}\n')
    with pytest.raises(PegboardError, match=r"line 2|t\.jsonl:2"):
        restore(path)


def test_a_line_separator_of_unicode_does_not_end_a_line(tmp_path):
    transcript = Transcript(tmp_path / "t.jsonl")
    transcript.write("user", content=[text("one\u2028two\x85three")])
    transcript.close()
    assert restore(transcript.path).messages[0]["content"] == [text("one\u2028two\x85three")]


async def test_nothing_is_written_before_the_first_message(board, tmp_path):
    path = tmp_path / "new" / "t.jsonl"
    async with Session(board, ReplayProvider([turn(text("Hi"))]), transcript=Transcript(path, lazy=True)) as session:
        assert session.transcript.is_empty
        assert not path.exists()
        await session.run("Go")
    assert [entry["type"] for entry in read(path)][:3] == ["session", "prompt", "user"]
    before = path.read_bytes()
    later = Session(board, ReplayProvider([]), transcript=Transcript(path, lazy=True))
    later.resume(restore(path), later.ctx)
    async with later:
        pass
    assert path.read_bytes() == before


async def test_a_fork_goes_on_from_a_copy(board, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    async with Session(board, ReplayProvider([turn(text("Hi"))]), transcript=Transcript(old)) as session:
        await session.run("Go")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/agent.jsonl").write_text("{}\n")
    before = old.read_bytes()
    fork = Session(board, ReplayProvider([turn(text("Ho"))]), transcript=Transcript(new, lazy=True, fork_of=old))
    fork.resume(restore(old), fork.ctx)
    async with fork:
        assert not new.exists()
        await fork.run("On")
    assert old.read_bytes() == before
    assert restore(new).messages == fork.messages
    assert (restore(new).prompts, restore(new).prompt, restore(new).last_prompt) == (2, "Go", "On")
    assert (tmp_path / "new/agent.jsonl").read_text() == "{}\n"
