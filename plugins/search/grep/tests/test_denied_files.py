"""No answer of Grep depends on what stands in a file that permission rules withhold."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import Board, Call
from pegboard.settings import load

DENIED = (
    "secrets/key",
    "secrets/deep/er/note.txt",
    "src/prod.pem",
    ".env",
    "sp ace/[x]*?{a,b}!.pem",
    "sp ace/né\n.pem",
    "n\udcffme.pem",
)
SHOWN = {
    "a.txt": "needle one\nother\n",
    "src/b.py": "x\nneedle\nneedle\n",
    "sp ace/c.txt": "none\n",
    "x.pem.txt": "y\n",
}
RULES = ["Read(./secrets/**)", "Read(**/*.pem)", "Read(.env)"]
CONTENTS = (b"", b"needle\n" * 3, b"other", b"\0\1needle\n", b"needle" * 200_000, b"a" * 40 + b"!", b"\xff\xfen\0e\0")
NOTE = "(Files withheld by permission rules were not searched.)"


def board_of(folder: Path, engine: str, **more: object) -> Board:
    (folder / ".pegboard").mkdir(exist_ok=True)
    text = json.dumps({"grep": {"engine": engine}, "permissions": {"deny": RULES}, **more})
    (folder / ".pegboard" / "settings.json").write_text(text)
    env = {"HOME": str(folder.parent / "nobody"), "PATH": os.environ["PATH"]}
    return Board.load(settings=load(folder, env, trusted=True, managed="/nowhere"), env=env)


def fill(folder: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_700_000_000,) * 2)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("withheld")
    fill(folder, {name: text.encode() for name, text in SHOWN.items()})
    (folder / "link").symlink_to("secrets/key")
    return folder


@pytest.fixture(scope="module", params=["bundled", "python"])
def board(request, place):
    return board_of(place, request.param)


async def answer(board: Board, **arguments: object) -> tuple[str, object, str]:
    result = await board.dispatch(Call("1", "Grep", arguments))
    value = result.value.model_dump() if hasattr(result.value, "model_dump") else result.value
    return result.text, value, result.code or ""


ARGUMENTS = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(["needle", "^.", "n.*e", "nothing at all", "(?:ne+d)+le", "\\S+", "other|needle"]),
        "output_mode": st.sampled_from(["files_with_matches", "content", "count"]),
    },
    optional={
        "glob": st.sampled_from(["*", "*.pem", "secrets/**", "!*.py", "**/key", ".env", "*.{txt,pem}"]),
        "type": st.sampled_from(["py", "txt"]),
        "head_limit": st.integers(0, 3),
        "offset": st.integers(0, 4),
        "-C": st.integers(0, 2),
        "-i": st.booleans(),
        "-o": st.booleans(),
        "multiline": st.booleans(),
        "hidden": st.booleans(),
        "include_ignored": st.booleans(),
        "path": st.sampled_from(["src", "sp ace", ".", "link", "a.txt"]),
    },
)


@settings(
    max_examples=250 if os.environ.get("PEGBOARD_TEST_SLOW") == "1" else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arguments=ARGUMENTS, contents=st.lists(st.sampled_from(CONTENTS), min_size=len(DENIED), max_size=len(DENIED)))
def test_answers_are_the_same_whatever_withheld_files_hold(board, place, arguments, contents):
    fill(place, dict.fromkeys(DENIED, b""))
    empty = anyio.run(lambda: answer(board, **arguments))
    fill(place, dict(zip(DENIED, contents, strict=True)))
    assert anyio.run(lambda: answer(board, **arguments)) == empty
    if not empty[2]:
        assert NOTE in empty[0]


@pytest.mark.parametrize("engine", ["bundled", "python"])
@pytest.mark.parametrize("glob", [None, "secrets/k*", "*.pem", ".env"])
def test_answers_are_the_same_whether_or_not_a_withheld_file_exists(tmp_path, engine, glob):
    fill(tmp_path, {name: text.encode() for name, text in SHOWN.items()})
    (tmp_path / "secrets").mkdir()
    board = board_of(tmp_path, engine)
    given = {"pattern": "needle", **({"glob": glob} if glob else {})}
    without = anyio.run(lambda: answer(board, **given))
    fill(tmp_path, dict.fromkeys(("secrets/key", "src/prod.pem", ".env"), b"needle\n"))
    assert anyio.run(lambda: answer(board, **given)) == without


def test_no_time_is_spent_on_what_a_withheld_file_holds(tmp_path):
    fill(tmp_path, {"a.txt": b"here: b", "secrets/key": b"a" * 5000 + b"!\n"})
    board = board_of(tmp_path, "python", search={"timeoutSeconds": 5})
    began = time.monotonic()
    result = anyio.run(lambda: answer(board, pattern="(a|aa|a*)*b$"))
    assert result[0].startswith("a.txt\n")
    assert time.monotonic() - began < 4


def test_a_withheld_file_is_never_opened(tmp_path):
    """The last access says so; where the file system keeps none, there is nothing to see."""
    fill(tmp_path, {"a.txt": b"needle", "secrets/key": b"needle"})
    for name in ("a.txt", "secrets/key"):
        os.utime(tmp_path / name, (1_000_000_000, 1_700_000_000))
    for engine in ("bundled", "python"):
        anyio.run(lambda engine=engine: answer(board_of(tmp_path, engine), pattern="needle"))
    if (tmp_path / "a.txt").stat().st_atime == 1_000_000_000:
        pytest.skip("the file system does not keep the time of the last access")
    assert (tmp_path / "secrets/key").stat().st_atime == 1_000_000_000


def test_progress_tells_nothing_of_withheld_files(tmp_path):
    fill(tmp_path, {"a.txt": b"needle", "secrets/key": b"needle"})
    board, seen = board_of(tmp_path, "bundled"), list[str]()

    async def search() -> None:
        call = Call("1", "Grep", {"pattern": "needle"})
        await board.dispatch(call, board.context(on_progress=lambda progress: seen.append(str(progress))))

    anyio.run(search)
    assert not any("key" in each or "secrets" in each for each in seen)


def test_too_many_withheld_places_are_refused_with_a_way_out(tmp_path):
    for number in range(2600):
        fill(tmp_path, {f"d{number}/{'x' * 200}.pem": b"", f"d{number}/a": b""})
    text, _, code = anyio.run(lambda: answer(board_of(tmp_path, "bundled"), pattern="needle"))
    assert code == "unsupported"
    assert "2600 paths would have to be excluded. Search a smaller folder with path." in text
    shutil.rmtree(tmp_path)
