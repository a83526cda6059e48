"""Whatever happens in the middle of a write, a file is its old or its new bytes, and nobody's work is lost unsaid."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
KILLS = 300 if SLOW else 20
EDITS = 1000 if SLOW else 100
OLD, NEW = b"old line\n" * 40_000, b"new line, somewhat longer\n" * 40_000

WRITER = """
import sys
from pathlib import Path
from pegboard_files.service import LocalFiles
target, state = Path(sys.argv[1]), sys.argv[2]
files = LocalFiles(state)
contents = [b"old line\\n" * 40_000, b"new line, somewhat longer\\n" * 40_000]
print("ready", flush=True)
number = 0
while True:
    number += 1
    files.write(target, contents[number % 2])
"""


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def parts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def test_a_file_survives_being_killed_at_any_moment(tmp_path):
    folder, state = tmp_path / "work", tmp_path / "state"
    folder.mkdir()
    target = folder / "file.txt"
    target.write_bytes(OLD)
    chance = random.Random(7)
    seen: set[bytes] = set()
    for _ in range(KILLS):
        with start(WRITER, target, state) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, 0.03))  # The moment is the point: there is nothing to wait for.
            os.kill(writer.pid, signal.SIGKILL)
        data = target.read_bytes()
        assert data in (OLD, NEW)
        seen.add(data)
        assert len(os.listdir(folder)) <= 2 + KILLS
    assert seen == {OLD, NEW}
    left = parts(folder)
    for note in (state / "writing").iterdir():
        os.utime(note, (1, 1))
    assert {note.name for note in (state / "writing").iterdir()} >= {name[1:] for name in left}
    remove = "import sys; from pegboard_files.service import LocalFiles; LocalFiles(sys.argv[1])"
    subprocess.run([sys.executable, "-c", remove, str(state)], check=True)
    assert parts(folder) == []


ONE_WRITE = """
import os, sys
from pathlib import Path
from pegboard.errors import ToolError
from pegboard_files.service import LocalFiles
target = Path(sys.argv[1])
files = LocalFiles(sys.argv[2])
files.write(target.with_name("warm-up"), b"x")
files.write(target.with_name("warm-up"), b"y")
print("ready", flush=True)
sys.stdin.readline()
try:
    written = files.write(target, b"new bytes")
except ToolError as error:
    os._exit(3)
except BaseException:
    import traceback
    traceback.print_exc()
    os._exit(4)
os._exit(0)
"""


def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


needs_strace = pytest.mark.skipif(not can_trace(), reason="strace is missing or may not trace here")


def traced_write(folder: Path, *options: str) -> tuple[int, str, str]:
    """One write under strace: its exit code, the trace, and what it said."""
    trace = folder.parent / "trace"
    trace.unlink(missing_ok=True)
    with start(ONE_WRITE, folder / "file.txt", folder.parent / "state") as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"ready\n"
        tracer = subprocess.Popen(
            ["strace", "-f", "-o", str(trace), *options, "-p", str(writer.pid)], stderr=subprocess.PIPE, text=True
        )
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
        code = writer.wait()
        said = writer.stderr.read().decode()
        tracer.wait()
        tracer.stderr.close()
    return code, trace.read_text(), said


WRITE_SIDE = ("openat", "openat2", "write", "fchmod", "fchown", "fsync", "rename", "renameat", "renameat2", "unlink",
              "unlinkat", "close", "flock", "fstat", "ftruncate", "newfstatat", "read", "mkdir")  # fmt: skip

CHANGING = ("write", "fchmod", "fsync", "rename", "renameat", "renameat2", "ftruncate", "unlinkat")
"""What the short run tries; the long one (PEGBOARD_TEST_SLOW=1) makes every call fail in two ways."""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    (made / "file.txt").write_bytes(b"old bytes")
    return made


@needs_strace
def test_the_new_bytes_are_on_disk_before_the_rename_and_the_folder_after(folder):
    code, trace, _ = traced_write(folder, "-e", "trace=fsync,fdatasync,rename,renameat,renameat2")
    calls = re.findall(r"^\d+ +(\w+)\(", trace, re.M)
    calls = ["rename" if call.startswith("rename") else call for call in calls]
    assert code == 0
    last = len(calls) - 1 - calls[::-1].index("rename")
    assert calls[last - 1 : last + 2] == ["fsync", "rename", "fsync"]


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"] if SLOW else ["ENOSPC"])
@pytest.mark.parametrize("linked", [False, True], ids=["replaced", "in place"])
def test_every_failing_system_call_leaves_the_old_bytes_or_the_new_ones(folder, error, linked):
    target = folder / "file.txt"
    if linked:
        os.link(target, folder / "other")
    _, trace, _ = traced_write(folder, "-e", f"trace={','.join(WRITE_SIDE)}")
    found = re.findall(r"^\d+ +(\w+)\(", trace, re.M)
    # The first read is that of standard input, which starts the write.
    cases = [(call, number) for call in dict.fromkeys(found) for number in range(1, found.count(call) + 1)]
    cases = [case for case in cases if case != ("read", 1) and (SLOW or case[0] in CHANGING)]
    assert {"write", "fsync"} <= {call for call, _ in cases}
    failed = 0
    for call, number in cases:
        target.write_bytes(b"old bytes")
        code, trace, said = traced_write(
            folder, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}"
        )
        data = target.read_bytes()
        place = f"{call} number {number} with {error}: {said}\n{trace}"
        assert code in (0, 3), place
        assert data == (b"new bytes" if code == 0 else b"old bytes"), place
        failed += code == 3
        for name in parts(folder):  # Left only where removing it was what failed.
            assert call.startswith("unlink"), place
            (folder / name).unlink()
    assert failed >= 3


EDITOR = """
import json, sys
from pathlib import Path
from pegboard.context import Context, Services
from pegboard.errors import ToolError
from pegboard_files.service import LocalFiles
from pegboard_edit import Edit, EditInput
target, state, name, times = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
ctx = Context(target.parent, services=Services(files=LocalFiles(state)))
print("ready", flush=True)
sys.stdin.readline()
done, refused = [], 0
for number in range(times):
    line = f"{name} {number}"
    try:
        Edit().call(EditInput(file_path=target, old_string="END", new_string=f"{line}\\nEND"), ctx)
        done.append(line)
    except ToolError as error:
        assert error.code in ("stale", "timeout"), error
        refused += 1
print(json.dumps([done, refused]), flush=True)
"""


def test_two_processes_that_edit_one_file_lose_nothing_without_saying_so(tmp_path):
    target = tmp_path / "file.txt"
    target.write_text("END\n")
    editors = [start(EDITOR, target, tmp_path / "state", name, EDITS) for name in ("one", "two")]
    for editor in editors:
        assert editor.stdout is not None
        assert editor.stdout.readline() == b"ready\n"
    reported: list[str] = []
    for editor in editors:
        assert editor.stdin is not None
        editor.stdin.write(b"go\n")
        editor.stdin.flush()
    for editor in editors:
        with editor:
            out, err = editor.communicate()
            assert editor.returncode == 0, err.decode()
            done, _ = json.loads(out)
            reported += done
    written = target.read_text().splitlines()[:-1]
    assert sorted(written) == sorted(reported)
    assert len(reported) > EDITS
