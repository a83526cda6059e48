"""Results that are too long: saved whole, shown in part."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import Board, Call, Context, Document, Image, Input, Result, Text, tool
from pegboard.hosting import text_size
from pegboard_files import TERMINAL_ESCAPE
from pegboard_files.results import Preview, ResultsStore, after, before

RED = "\x1b[31m"
LINK = "\x1b]8;;https://example.org/a/long/address\x1b\\"


@pytest.fixture
def store(tmp_path: Path) -> ResultsStore:
    return ResultsStore(tmp_path / "state" / "results" / "s1")


def saved(store: ResultsStore) -> list[Path]:
    return sorted(store.folder.glob("*")) if store.folder.exists() else []


def test_a_result_within_the_limit_is_left_alone(store):
    blocks = (Text("x" * 100), Image(b"png"))
    assert store.fit(blocks, 100, "Read", "c1") == blocks
    assert store.fit((Text("x" * 10**6),), None, "Read", "c1") == (Text("x" * 10**6),)
    assert saved(store) == []


def test_a_long_result_is_saved_whole_and_shown_as_head_and_tail(store):
    text = "".join(f"line {number}\n" for number in range(20_000))
    [shown] = store.fit([Text(text)], 1_000, "Bash", "toolu_1")
    [path] = saved(store)
    assert path.read_text() == text
    assert len(shown.text) <= 1_000
    remark, rest = shown.text.split("\n", 1)
    assert remark == (
        f"[The result of Bash has 208,890 characters in 20,001 lines, too long to show. "
        f"It is saved in full in {path}: read the parts you need, or search it.]"
    )
    head, tail = re.split(r"\n\[\.\.\. [\d,]+ characters omitted \.\.\.\]\n", rest)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > 200
    assert len(tail) > 200
    left_out = int(re.search(r"([\d,]+) characters omitted", rest)[1].replace(",", ""))
    assert len(head) + left_out + len(tail) == len(text)


def test_folders_and_files_are_for_the_user_only(store):
    store.fit([Text("x" * 2_000)], 1_000, "Bash", "c1")
    [path] = saved(store)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [folder.stat().st_mode & 0o777 for folder in (store.folder, store.folder.parent)] == [0o700, 0o700]


def test_equal_calls_get_files_of_their_own(store):
    for text in ("x" * 2_000, "y" * 2_000):
        store.fit([Text(text)], 1_000, "Bash", "c1")
    assert {path.read_text()[0] for path in saved(store)} == {"x", "y"}


@pytest.mark.parametrize("name", ["../../etc/passwd", "mcp__a/b", "a\0b", "", "n" * 500, "..", "Größe"])
def test_names_never_become_paths(store, name):
    [shown] = store.fit([Text("x" * 2_000)], 1_000, name, name)
    assert [path.parent for path in saved(store)] == [store.folder]
    assert shown.path in saved(store)


def test_pictures_and_documents_stay_where_they_are(store):
    blocks = [Image(b"1"), Text("a" * 900), Document(b"2"), Text("b" * 900), Image(b"3")]
    first, shown, second, third = store.fit(blocks, 1_000, "Read", "c1")
    assert (first, second, third) == (Image(b"1"), Document(b"2"), Image(b"3"))
    assert saved(store)[0].read_text() == "a" * 900 + "\n" + "b" * 900
    assert len(shown.text) <= 1_000


def test_bytes_that_were_no_text_come_out_as_they_went_in(store):
    data = b"\xff\xfe and \xe2\x82" * 500
    store.fit([Text(data.decode("utf-8", "surrogateescape"))], 1_000, "Read", "c1")
    assert saved(store)[0].read_bytes() == data


def test_half_a_surrogate_pair_is_saved_too(store):
    store.fit([Text("\ud83d" * 2_000)], 1_000, "Read", "c1")
    assert saved(store)[0].read_bytes().decode("utf-8", "surrogatepass") == "\ud83d" * 2_000


@given(
    st.lists(st.sampled_from(["word ", RED, LINK, "\r\n", "é", "😀", "\x1b", "\x1bM", "\x9b1m"]), min_size=1), st.data()
)
def test_no_cut_falls_inside_an_escape_sequence_or_a_line_end(pieces, data):
    text = "".join(pieces)
    cut = data.draw(st.integers(0, len(text)))
    places = [before(text, cut), after(text, cut)]
    assert places[0] <= cut <= places[1]
    for place in places:
        assert text[max(place - 1, 0) : place + 1] != "\r\n"
        assert not any(found.start() < place < found.end() for found in TERMINAL_ESCAPE.finditer(text))


def test_a_preview_cuts_no_escape_sequence(store):
    for extra in range(12):
        [shown] = store.fit([Text("x" * extra + (RED + "y") * 3_000 + "z" * extra)], 1_000, "Bash", "c1")
        for part in (shown.head, shown.tail):
            assert "\x1b" not in TERMINAL_ESCAPE.sub("", part)
            assert not re.search(r"^(\[?\d*m)", part)


def test_a_remark_is_all_there_is_when_the_limit_leaves_no_room(store):
    [shown] = store.fit([Text("x" * 2_000)], 50, "Bash", "c1")
    assert (shown.head, shown.tail) == ("", "")
    assert str(saved(store)[0]) in shown.text


def test_what_cannot_be_saved_is_still_shown_in_part(tmp_path):
    (tmp_path / "file").write_text("")
    [shown] = ResultsStore(tmp_path / "file" / "s1").fit([Text("x" * 20_000)], 1_000, "Bash", "c1")
    assert "The rest could not be saved (its folder cannot be used). To see more, ask for a smaller part." in shown.text
    assert shown.head.startswith("xxx")
    assert shown.path is None


def test_a_full_disk_leaves_no_half_file(store, monkeypatch):
    real = os.fdopen

    def full(descriptor: int, mode: str):
        os.close(descriptor)
        return real(os.open("/dev/full", os.O_WRONLY), mode)

    monkeypatch.setattr(os, "fdopen", full)
    [shown] = store.fit([Text("x" * 2_000_000)], 1_000, "Bash", "c1")
    assert "The rest could not be saved (No space left on device)." in shown.text
    assert saved(store) == []


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "s1").symlink_to(tmp_path / "elsewhere")
    [shown] = ResultsStore(tmp_path / "s1").fit([Text("x" * 2_000)], 1_000, "Bash", "c1")
    assert "could not be saved" in shown.text
    assert list((tmp_path / "elsewhere").iterdir()) == []


def results(*sizes: int) -> list[Result]:
    return [Result(f"c{number}", "Bash", (Text(chr(97 + number) * size),)) for number, size in enumerate(sizes)]


def test_a_turn_within_its_budget_is_left_alone(store):
    turn = results(1_000, 2_000)
    assert store.fit_turn(turn, 3_000) == turn
    assert store.fit_turn([], 0) == []


def test_the_largest_results_of_a_turn_are_saved_first(store):
    turn = results(10_000, 90_000, 20_000, 50_000)
    fitted = store.fit_turn(turn, 40_000)
    assert [type(result.content[0]) for result in fitted] == [Text, Preview, Text, Preview]
    assert (fitted[0], fitted[2]) == (turn[0], turn[2])
    assert sum(text_size(result.content) for result in fitted) <= 40_000
    assert {path.stat().st_size for path in saved(store)} == {90_000, 50_000}


def test_many_small_results_fit_the_budget_too(store):
    fitted = store.fit_turn(results(*[3_000] * 50), 30_000)
    assert sum(text_size(result.content) for result in fitted) <= 30_000
    for result in fitted:
        assert isinstance(result.content[0], Text)


def test_a_preview_is_made_shorter_without_being_saved_again(store):
    content = store.fit([Text("x" * 90_000)], 30_000, "Bash", "c1")
    assert len(content[0].text) > 3_500
    turn = [Result("c1", "Bash", (*content, Text("a remark"))), *results(*[500] * 9)]
    [first, *_] = store.fit_turn(turn, 6_000)
    assert len(saved(store)) == 1
    assert str(saved(store)[0]) in first.content[0].text
    assert (first.content[0].path, first.content[1]) == (saved(store)[0], Text("a remark"))
    shown = first.content[0]
    assert len(shown.head) + shown.left_out + len(shown.tail) == 90_000


def test_only_old_results_are_removed_at_the_start(tmp_path):
    env = {"XDG_STATE_HOME": str(tmp_path)}
    root = tmp_path / "pegboard" / "results"
    old = ResultsStore.for_session(env, "old")
    old.fit([Text("x" * 2_000)], 1_000, "Bash", "c1")
    mixed = ResultsStore.for_session(env, "mixed")
    mixed.fit([Text("x" * 2_000)], 1_000, "Bash", "c1")
    (root / "mixed" / "notes.md").write_text("not ours")
    eight_days_ago = time.time() - 8 * 86_400
    for path in (*root.glob("old/*"), root / "mixed" / "notes.md"):
        os.utime(path, (eight_days_ago, eight_days_ago))
    store = ResultsStore.for_session(env, "new", retention_days=7)
    assert store.folder == root / "new"
    assert not (root / "old").exists()
    assert len(list((root / "mixed").iterdir())) == 2


def test_a_store_removes_old_files_of_its_own_folder_only(tmp_path):
    for name in ("a/x.txt", "b/x.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    ResultsStore(tmp_path / "a", retention_days=1)
    assert [(tmp_path / name).exists() for name in ("a/x.txt", "b/x.txt")] == [False, True]


def test_without_a_state_folder_results_go_to_a_private_temporary_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = ResultsStore.for_session({}, "s1")
    assert store.folder.parent == tmp_path
    assert store.folder.stat().st_mode & 0o777 == 0o700
    [shown] = store.fit([Text("x" * 2_000)], 1_000, "Bash", "c1")
    assert shown.path.exists()


def test_a_session_name_cannot_leave_the_results_folder(tmp_path):
    store = ResultsStore.for_session({"XDG_STATE_HOME": str(tmp_path)}, "../../x")
    assert store.folder.parent == tmp_path / "pegboard" / "results"


def test_two_hundred_megabytes_cost_little_extra_memory(tmp_path):
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom pegboard.calls import Text\n"
        "from pegboard_files.results import ResultsStore\n"
        "store, text = ResultsStore(Path(sys.argv[1])), Text('abcd\\n' * 40_000_000)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "[shown] = store.fit([text], 30_000, 'Bash', 'c1')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, shown.path.stat().st_size)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "r")], capture_output=True, text=True, check=True
    )
    extra_kb, size = map(int, done.stdout.split())
    assert size == 200_000_000
    assert extra_kb < 20_000


class FloodInput(Input):
    """Nothing."""


@tool(read_only=True, open_world=False)
def Flood(args: FloodInput, ctx: Context) -> str:
    """Say a lot."""
    return "é" * 100_000_000


async def test_two_hundred_megabytes_of_a_call_are_saved_and_previewed(tmp_path):
    board = Board.load(cwd=tmp_path, env={"HOME": str(tmp_path)}, tools=[Flood])
    result = await board.dispatch(Call("1", "Flood"))
    assert not result.is_error
    assert len(result.text) <= 4000
    [file] = list((tmp_path / ".local/state/pegboard/results").rglob("Flood*.txt"))
    assert file.stat().st_size == 200_000_000
    assert str(file) in result.text
