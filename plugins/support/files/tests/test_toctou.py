"""Between the decision and the act links are swapped: what is opened is what was judged, or nothing is."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

import pegboard_rules
from pegboard import Allow, Board, Call, Context, Facts, Input, ToolError, hookimpl, tool
from pegboard.settings import Settings
from pegboard_files import safe_open as beneath
from pegboard_files.safe_open import check_landing, folder_of, open_approved, open_beneath, open_exactly, real_path

WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
ROUNDS = 3_000


@pytest.fixture(params=["openat2", "walk"])
def way(request, monkeypatch):
    """Both ways to open: the kernel's own, and name by name where it has none."""
    if request.param == "walk":
        monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    elif not beneath.has_openat2():
        pytest.skip("this kernel has no openat2")
    return request.param


@pytest.fixture
def places(tmp_path):
    for name in ("root", "root/inner", "outside"):
        (tmp_path / name).mkdir()
    return tmp_path / "root", tmp_path / "outside"


@contextmanager
def flipping(link, *targets):
    """A thread that lets the link lead to one target after the other, as fast as it can."""
    stop, turns = threading.Event(), [0]

    def flip():
        while not stop.is_set():
            for target in targets:
                made = f"{link}.new"
                os.symlink(target, made)
                os.replace(made, link)
                turns[0] += 1

    os.symlink(targets[0], link)
    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield turns
    finally:
        stop.set()
        thread.join()


def write(descriptor, data=b"x"):
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def test_a_swapped_folder_never_lets_a_write_leave_the_root(way, places):
    root, outside = places
    written = refused = 0
    with flipping(root / "link", "inner", "../outside") as turns:
        while turns[0] < ROUNDS:
            try:
                write(open_beneath(root, "link/file", WRITE))
                written += 1
            except ToolError:
                refused += 1
    assert list(outside.iterdir()) == []
    assert refused
    assert written or way == "walk"  # Name by name, links inside the root are refused too.


def test_a_relative_link_inside_the_root_is_followed_and_one_that_leaves_is_not(places):
    root, _ = places
    (root / "in").symlink_to("inner")
    (root / "out").symlink_to("../outside")
    write(open_beneath(root, root / "in" / "file", WRITE))
    assert (root / "inner" / "file").read_bytes() == b"x"
    with pytest.raises(ToolError, match="resolves through a link to a path that was not allowed"):
        open_beneath(root, "out/file", WRITE)


@pytest.mark.parametrize("path", ["../outside/file", "inner/../../outside/file", "/etc/passwd"])
def test_a_path_that_climbs_out_is_refused(way, places, path):
    root, _ = places
    with pytest.raises((ToolError, FileNotFoundError)) as refused:
        open_beneath(root, path, os.O_RDONLY)
    assert refused.type is ToolError


def test_a_magic_link_of_proc_is_refused(way, places):
    _, outside = places
    descriptor = os.open(outside, os.O_RDONLY)
    try:
        with pytest.raises(ToolError, match="link"):
            open_exactly(f"/proc/self/fd/{descriptor}/file", WRITE)
    finally:
        os.close(descriptor)
    assert list(outside.iterdir()) == []


def test_missing_files_and_files_in_place_of_folders_are_named_as_such(way, places):
    root, _ = places
    (root / "file").write_text("x")
    with pytest.raises(FileNotFoundError):
        open_beneath(root, "nothing", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        open_beneath(root, "file/below", os.O_RDONLY)


def test_what_was_judged_is_opened_and_nothing_else(way, places):
    root, outside = places
    (root / "link").symlink_to(outside)
    judged = {str(root / "a"): True, str(root / "b"): False}
    write(open_approved(root / "a", judged, WRITE))
    with pytest.raises(ToolError, match="resolves to a different file than the one that was allowed"):
        open_approved(root / "link" / "a", judged, WRITE)
    with pytest.raises(ToolError):
        open_approved(root / "b", judged, WRITE)  # Judged for reading only.
    assert not (root / "b").exists()


def test_a_descriptor_of_another_file_does_not_pass(places):
    root, outside = places
    (outside / "file").write_text("x")
    descriptor = os.open(outside / "file", os.O_RDONLY)
    try:
        check_landing(descriptor, str(outside / "file"))
        with pytest.raises(ToolError, match="was moved while it was being opened"):
            check_landing(descriptor, str(root / "file"))
    finally:
        os.close(descriptor)


def test_in_an_opened_folder_renaming_stays_where_it_was_judged(way, places):
    root, outside = places
    with folder_of(str(root / "inner" / "file")) as (folder, name):
        (root / "inner").rename(root / "away")
        (root / "inner").symlink_to(outside)
        write(os.open("part", WRITE, 0o600, dir_fd=folder))
        os.replace("part", name, src_dir_fd=folder, dst_dir_fd=folder)
    assert (root / "away" / "file").read_bytes() == b"x"
    assert list(outside.iterdir()) == []


class PutInput(Input):
    file_path: Path


def put_facts(args, ctx):
    return Facts(open_world=False, writes=(ctx.resolve(args.file_path),))


@tool(open_world=False, facts=put_facts)
def Put(args: PutInput, ctx: Context) -> str:
    """Write a file, as a tool should."""
    real = real_path(ctx.resolve(args.file_path), ctx.approved_paths, change=True)
    with folder_of(real) as (folder, name):
        write(os.open("part", WRITE | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder))
        os.replace("part", name, src_dir_fd=folder, dst_dir_fd=folder)
    return real


async def test_through_the_whole_pipeline_a_swapped_link_never_lets_a_write_leave(way, places):
    root, outside = places
    board = Board(Settings(cwd=str(root)), [], tools=[Put], plugins=[pegboard_rules])
    ctx = board.context(mode="acceptEdits")  # Edits inside the working directory run, all others ask nobody.
    codes = {"": 0, "permission_denied": 0, "stale": 0}
    with anyio.fail_after(60), flipping(root / "link", root / "inner", outside) as turns:
        while turns[0] < ROUNDS or not codes[""]:
            result = await board.dispatch(Call("1", "Put", {"file_path": "link/file"}), ctx)
            codes[result.code] += 1
            await anyio.lowlevel.checkpoint()
    assert list(outside.iterdir()) == []
    assert (root / "inner" / "file").read_bytes() == b"x"
    assert codes["permission_denied"]


async def test_a_link_that_is_swapped_while_a_person_thinks_changes_nothing(places):
    root, outside = places
    (root / "link").symlink_to(root / "inner")

    class Slow:
        @hookimpl
        def ask_user(self, question):
            (root / "link").unlink()
            (root / "link").symlink_to(outside)
            return Allow("yes", layer="ask")

    board = Board(Settings(cwd=str(root)), [], tools=[Put], plugins=[Slow()])
    result = await board.dispatch(Call("1", "Put", {"file_path": "link/file"}))
    assert result.code == "stale"
    assert "resolves to a different file than the one that was allowed" in result.text
    assert list(outside.iterdir()) == []
