"""Replacing a file: what is kept, what is refused, and what is left behind."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from pegboard.errors import ToolError
from pegboard_files.leftovers import NAME, Leftovers, new_name
from pegboard_files.service import LocalFiles


@pytest.fixture
def files(tmp_path):
    return LocalFiles(tmp_path / "state")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_mode_and_attributes_are_kept(files, folder):
    path = folder / "run.sh"
    path.write_text("old")
    path.chmod(0o751)
    try:
        os.setxattr(path, "user.colour", b"blue")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    files.write(path, b"new")
    assert (stat.S_IMODE(path.stat().st_mode), os.getxattr(path, "user.colour")) == (0o751, b"blue")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the super-user can give files away")
def test_the_owner_is_kept_and_set_user_id_with_it(files, folder):
    path = folder / "a"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    path.chmod(0o4755)
    files.write(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o4755)


def test_a_new_file_gets_the_mode_that_the_umask_leaves(files, folder):
    before = os.umask(0o027)
    try:
        files.write(folder / "a", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o640


def test_a_link_stays_a_link(files, folder):
    (folder / "real").write_text("old")
    (folder / "link").symlink_to("real")
    files.write(folder / "link", b"new")
    assert ((folder / "link").is_symlink(), (folder / "real").read_bytes()) == (True, b"new")


def test_a_dangling_link_makes_the_file_it_leads_to(files, folder):
    (folder / "link").symlink_to("real")
    files.write(folder / "link", b"new")
    assert (folder / "real").read_bytes() == b"new"


def test_a_file_with_two_names_is_written_in_place_and_says_so(files, folder):
    (folder / "a").write_text("a longer old text")
    os.link(folder / "a", folder / "b")
    written = files.write(folder / "a", b"new")
    assert (folder / "b").read_bytes() == b"new"
    assert written.notes == ("It has 2 hard links, so it was written in place and not replaced.",)
    assert written.undo.stored.read_text() == "a longer old text"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the super-user can become somebody else for a moment")
def test_a_file_in_a_folder_without_permission_is_written_in_place():
    with tempfile.TemporaryDirectory() as name:  # The folders of pytest let nobody else in.
        folder = Path(name).resolve()
        folder.chmod(0o755)
        path = folder / "a"
        path.write_text("old")
        os.chown(path, 65534, 65534)
        files = LocalFiles()
        os.seteuid(65534)
        try:
            written = files.write(path, b"new")
            with pytest.raises(
                ToolError, match=r"cannot be written: Permission denied\. It was not changed\."
            ) as caught:
                files.write(folder / "b", b"new")
        finally:
            os.seteuid(0)
        assert (path.read_bytes(), "written in place" in written.notes[0]) == (b"new", True)
    assert caught.value.code == "permission_denied"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_not_a_regular_file_is_refused(files, folder, make):
    make(folder / "thing")
    with pytest.raises(ToolError, match="is not a regular file"):
        files.write(folder / "thing", b"x")


def test_a_change_between_the_reading_and_the_rename_is_stale(files, folder, monkeypatch):
    path = folder / "a"
    path.write_text("old")
    real = os.fsync

    def meddle(descriptor):
        real(descriptor)
        path.write_text("somebody else")

    monkeypatch.setattr("pegboard_files.safe_write.os.fsync", meddle)
    with pytest.raises(ToolError, match="has changed since it was read") as caught:
        files.write(path, b"new")
    assert (caught.value.code, path.read_text(), os.listdir(folder)) == ("stale", "somebody else", ["a"])


def test_a_folder_without_the_name_of_its_file_leaves_no_long_name_behind(files, folder):
    name = "é" * 127
    files.write(folder / name, b"x")
    assert os.listdir(folder) == [name]


def test_only_old_leftovers_of_our_own_are_removed(folder, tmp_path):
    leftovers = Leftovers(tmp_path / "notes")
    old, young, foreign = (folder / new_name() for _ in range(3))
    for part in (old, young):
        part.write_text("half")
        note = leftovers.note(part)
        if part == old:
            os.utime(note, (1, 1))
    foreign.write_text("not noted")
    other = folder / "precious.txt"
    other.write_text("precious")
    wrong = tmp_path / "notes" / "pegboard-0000000000000000.part"
    wrong.write_bytes(os.fsencode(other))
    os.utime(wrong, (1, 1))
    assert leftovers.remove_old() == [old]
    assert {path.name for path in folder.iterdir()} == {young.name, foreign.name, "precious.txt"}
    assert NAME.fullmatch(young.name)


def test_the_next_start_removes_what_a_killed_process_left(folder, tmp_path):
    leftovers = Leftovers(tmp_path / "state" / "writing")
    part = folder / new_name()
    part.write_text("half")
    os.utime(leftovers.note(part), (1, 1))
    LocalFiles(tmp_path / "state")
    assert not part.exists()
    assert list((tmp_path / "state" / "writing").iterdir()) == []
