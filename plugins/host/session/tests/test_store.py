"""What becomes of old transcripts."""

import os
import subprocess
import sys
import time

from pegboard_session import Transcript
from pegboard_session.store import DAY, KEEP_NEWEST, TranscriptStore

EXPIRE = """
import sys
from pathlib import Path
from pegboard_session.store import TranscriptStore
store = TranscriptStore(Path(sys.argv[1]))
sys.stdin.read()
store.expire(30)
print(store.new().suffix)
"""


def filled(tmp_path, count, age_days):
    store = TranscriptStore(tmp_path / "transcripts")
    store.folder.mkdir()
    when = time.time() - age_days * DAY
    for number in range(count):
        path = store.folder / f"{number:032x}.jsonl"
        path.write_text('{"type":"prompt","text":"x"}\n')
        path.with_suffix("").mkdir()
        os.utime(path, (when + number, when + number))
    return store


def test_many_processes_may_start_while_old_transcripts_expire(tmp_path):
    store = filled(tmp_path, 400, 40)
    argv = [sys.executable, "-c", EXPIRE, str(store.folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(argv, **pipes) for _ in range(12)]
    for process in running:
        process.stdin.close()  # All go at once.
        process.stdin = None
    ends = [process.communicate(timeout=120) for process in running]
    assert [(out, error) for out, error in ends if error] == []
    assert [process.returncode for process in running] == [0] * 12
    assert len(store.all()) == KEEP_NEWEST
    assert len(list(store.trash.glob("*.jsonl"))) == 400 - KEEP_NEWEST


def test_one_start_with_a_wrong_clock_loses_nothing(tmp_path):
    store = filled(tmp_path, 60, 1)
    store.expire(30, now=time.time() + 32 * DAY)
    assert len(store.all()) == KEEP_NEWEST
    store.expire(30)
    assert len(store.all()) == 60
    assert len([path for path in store.folder.iterdir() if path.is_dir() and path != store.trash]) == 60


def test_the_trash_is_emptied_after_a_week(tmp_path):
    store = filled(tmp_path, 25, 40)
    store.expire(30)
    store.expire(30, now=time.time() + 6 * DAY)
    assert len(list(store.trash.glob("*.jsonl"))) == 5
    store.expire(30, now=time.time() + 8 * DAY)
    assert list(store.trash.iterdir()) == []
    assert len(store.all()) == KEEP_NEWEST


def test_a_transcript_that_a_session_has_open_stays(tmp_path):
    store = filled(tmp_path, 25, 40)
    oldest = store.all()[-1]
    transcript = Transcript(oldest)
    store.expire(30)
    assert oldest.exists()
    transcript.close()
    store.expire(30)
    assert not oldest.exists()
