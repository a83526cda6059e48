"""The file service: what a conversation knows about files, and that nobody writes over somebody else's work."""

import json
import os
import threading
import time

import pytest

from pegboard.errors import ToolError
from pegboard_files import FileState
from pegboard_files.locks import path_lock
from pegboard_files.service import LocalFiles, digest, file_digest, stat_state


@pytest.fixture
def files(tmp_path):
    return LocalFiles(tmp_path / "state")


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder / "a.txt"


def seen(path, **changes):
    data = path.read_bytes()
    base = stat_state(path.stat(), digest(data))
    return FileState(**{**{name: getattr(base, name) for name in base.__slots__}, **changes})


def test_what_was_noted_is_known_under_every_name_of_the_file(files, path):
    path.write_text("x")
    files.note(path, seen(path))
    link = path.with_name("link")
    link.symlink_to("a.txt")
    assert files.known(link) == files.known(path) == seen(path)
    files.forget(link)
    assert files.known(path) is None


def test_parts_of_the_same_content_add_up_to_the_whole(files, path):
    path.write_text("1\n2\n3\n4\n")
    files.note(path, seen(path, complete=False, ranges=((1, 2),), total_lines=4))
    files.note(path, seen(path, complete=False, ranges=((4, 4),), total_lines=4))
    assert (files.known(path).complete, files.known(path).ranges) == (False, ((1, 2), (4, 4)))
    files.note(path, seen(path, complete=False, ranges=((2, 3),), total_lines=4))
    assert files.known(path).complete
    files.note(path, seen(path, complete=False, ranges=((1, 1),), total_lines=4))
    assert files.known(path).complete


def test_parts_of_different_contents_do_not_add_up(files, path):
    path.write_text("1\n2\n")
    files.note(path, seen(path, complete=False, ranges=((1, 1),), total_lines=2))
    path.write_text("1\n3\n")
    files.note(path, seen(path, complete=False, ranges=((2, 2),), total_lines=2))
    assert not files.known(path).complete


def test_content_decides_whether_a_file_is_current(files, path):
    path.write_text("one")
    state = seen(path)
    os.utime(path, (1, 1))
    assert files.is_current(path, state)
    path.write_text("two")
    assert not files.is_current(path, state)
    path.write_text("one")
    assert files.is_current(path, state)
    path.unlink()
    assert not files.is_current(path, state)


def test_a_change_within_the_clock_of_the_file_system_is_seen(files, path):
    path.write_text("one")
    state = seen(path)
    assert not state.settled  # It is too young for its times to tell.
    path.write_text("two")
    os.utime(path, ns=(state.mtime_ns, state.mtime_ns))
    assert not files.is_current(path, state)


def test_the_times_save_the_reading_of_a_settled_file(files, path, monkeypatch):
    path.write_text("one")
    later = time.time_ns() + 3_000_000_000
    monkeypatch.setattr("pegboard_files.service.time.time_ns", lambda: later)
    state = seen(path)
    assert state.settled
    monkeypatch.setattr("pegboard_files.service.file_digest", lambda _: pytest.fail("it was read"))
    assert files.is_current(path, state)


def test_a_write_is_remembered_with_its_style(files, path):
    like = FileState("", 0, 0, encoding="cp1252", newline="\r\n", bom=False, mixed=True)
    written = files.write(path, b"new", like=like)
    known = files.known(path)
    assert known == written.state
    assert (known.digest, known.encoding, known.newline, known.mixed, known.source) == (
        digest(b"new"),
        "cp1252",
        "\r\n",
        True,
        "write",
    )


@pytest.mark.parametrize(("now", "expected"), [(b"other", digest(b"one")), (None, digest(b"one")), (b"x", "")])
def test_a_write_is_stale_when_the_file_is_not_what_was_expected(files, path, now, expected):
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(ToolError, match="has changed since it was read") as caught:
        files.write(path, b"new", expected_digest=expected)
    assert caught.value.code == "stale"
    assert (path.read_bytes() if path.exists() else None) == now


def test_a_view_is_in_the_conversation_once_and_not_after_compaction(files, path):
    files = files.fork(conversation=True)
    path.write_text("x")
    files.note(path, seen(path), "1:2")
    assert [files.shows_again(path, view) for view in ("3:4", "1:2", "1:2")] == [False, True, False]
    files.note(path, seen(path), "1:2")
    files.forget_views()
    assert not files.shows_again(path, "1:2")
    files.note(path, seen(path), "1:2")
    path.write_text("y")
    assert not files.shows_again(path, "1:2")
    files.note(path, seen(path), "1:2")
    files.write(path, b"y")
    assert not files.shows_again(path, "1:2")


def test_without_a_conversation_no_view_is_kept(files, path):
    path.write_text("x")
    for record in (files, files.fork(conversation=True).fork()):
        record.note(path, seen(path), "all")
        record.forget_views()
        record.note(path, seen(path), "all")
        assert not record.shows_again(path, "all")
        assert record.known(path)


def test_a_fork_knows_what_its_parent_knew_and_learns_on_its_own(files, path):
    path.write_text("x")
    files = files.fork(conversation=True)
    files.note(path, seen(path), "all")
    child = files.fork(conversation=True)
    assert child.known(path) == files.known(path)
    assert not child.shows_again(path, "all")  # The result is in the parent's conversation, not in the child's.
    child.write(path, b"y")
    assert files.known(path).digest == digest(b"x")
    assert files.undo_entries() == child.undo_entries() != []


def test_what_is_known_survives_as_plain_data(files, path, tmp_path):
    path.write_text("1\n2\n")
    files.note(path, seen(path, complete=False, ranges=((1, 1),), total_lines=2, newline="\r\n"))
    later = LocalFiles(tmp_path / "state")
    later.restore(json.loads(json.dumps(files.as_data())))
    assert later.known(path) == files.known(path)


def test_listeners_hear_of_reads_and_writes_and_a_broken_one_hurts_nobody(files, path, caplog):
    heard = []
    files.listen(lambda event: 1 / 0)
    end = files.listen(lambda event: heard.append((event.kind, event.path, event.state.digest)))
    path.write_text("x")
    files.note(path, seen(path))
    files.fork().write(path, b"y")
    end()
    files.write(path, b"z")
    assert heard == [("read", path, digest(b"x")), ("written", path, digest(b"y"))]
    assert "a listener of the file service failed" in caplog.text


def test_earlier_bytes_are_kept_for_undo(files, path, tmp_path):
    files.write(path, b"one")
    path.chmod(0o640)
    files.write(path, b"two")
    new, changed = files.undo_entries()
    assert (new.before, new.stored) == ("", None)
    assert (changed.before, changed.after, changed.mode) == (digest(b"one"), digest(b"two"), 0o640)
    assert changed.stored.read_bytes() == b"one"
    assert changed.stored.stat().st_mode & 0o077 == 0
    os.utime(changed.stored, (1, 1))
    LocalFiles(tmp_path / "state").write(path, b"three")
    assert not changed.stored.exists()


def test_without_a_state_folder_writing_still_works(path):
    files = LocalFiles()
    assert files.write(path, b"x").undo.stored is None
    with files.lock(path):
        assert files.write(path, b"y").undo.stored is None
    assert path.read_bytes() == b"y"


def test_a_lock_can_be_taken_again_by_its_thread_and_not_by_another(files, path):
    entered, order = threading.Event(), []

    def other():
        entered.set()
        with files.lock(path):
            order.append("other")

    with files.lock(path):
        files.write(path, b"x")
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_whoever_waits_too_long_for_a_lock_is_told(tmp_path, path):
    caught = []

    def other():
        try:
            with path_lock(str(path), tmp_path / "locks", patience=0.05):
                pass
        except ToolError as error:
            caught.append((error.code, "is being changed by another process" in error.message))

    with path_lock(str(path), tmp_path / "locks"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert caught == [("timeout", True)]


def test_a_link_that_was_moved_after_the_decision_is_refused(files, path, tmp_path):
    path.write_text("allowed")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    link = path.with_name("link")
    link.symlink_to(secret)
    with pytest.raises(ToolError, match="resolves to a different file than the one that was allowed"):
        files.write(link, b"x", approved_paths={str(path): True})
    assert secret.read_text() == "secret"


def test_scratch_folders_are_private_and_kept_apart(files):
    one, other = files.scratch("pages"), files.scratch("other")
    assert one != other
    assert one == files.scratch("pages")
    assert one.stat().st_mode & 0o077 == 0


def test_scratch_folders_of_long_ago_are_removed(files, tmp_path):
    old = files.scratch("pages")
    (old / "page.png").touch()
    os.utime(old, (1, 1))
    assert LocalFiles(tmp_path / "state").scratch("pages").exists()
    assert not old.exists()


def test_the_digest_of_a_file_is_that_of_its_bytes(path):
    path.write_bytes(b"x" * 3_000_000)
    assert file_digest(path) == digest(b"x" * 3_000_000)


def test_a_removed_file_can_be_put_back(files, path):
    path.write_text("x")
    path.chmod(0o640)
    files.note(path, seen(path))
    told = []
    files.listen(told.append)
    undo = files.remove(path, expected_digest=digest(b"x"))
    assert not path.exists()
    assert (undo.before, undo.after, undo.mode, undo.stored.read_text()) == (digest(b"x"), "", 0o640, "x")
    assert files.undo_entries() == [undo]
    assert files.known(path) is None
    assert [event.kind for event in told] == ["removed"]


def test_a_moved_file_is_known_under_its_new_name(files, path):
    path.write_text("x")
    path.chmod(0o750)
    files.note(path, seen(path))
    to = path.with_name("b.txt")
    gone, made = files.move(path, to, expected_digest=digest(b"x"))
    assert (path.exists(), to.read_text(), to.stat().st_mode & 0o777) == (False, "x", 0o750)
    assert (gone.path, gone.after, made.path, made.before) == (path, "", to, "")
    assert files.known(path) is None
    assert files.is_current(to, files.known(to))
    assert files.known_paths() == [to]


@pytest.mark.parametrize("act", ["remove", "move"])
def test_what_has_changed_or_is_taken_is_neither_removed_nor_moved(files, path, act):
    to = path.with_name("b.txt")
    do = {
        "remove": lambda d: files.remove(path, expected_digest=d),
        "move": lambda d: files.move(path, to, expected_digest=d),
    }
    with pytest.raises(ToolError, match="no longer exists"):
        do[act](digest(b"x"))
    path.write_text("other")
    with pytest.raises(ToolError, match="has changed since it was read"):
        do[act](digest(b"x"))
    link = path.with_name("link")
    link.symlink_to(path)
    with pytest.raises(ToolError, match="is a symbolic link"):
        files.remove(link, expected_digest=digest(b"other"))
    to.write_text("mine")
    with pytest.raises(ToolError, match="already exists"):
        files.move(path, to, expected_digest=digest(b"other"))
    assert (path.read_text(), to.read_text()) == ("other", "mine")


def test_what_was_not_approved_is_not_removed(files, path):
    path.write_text("x")
    with pytest.raises(ToolError, match="resolves to a different file than the one that was allowed"):
        files.remove(path, expected_digest=digest(b"x"), approved_paths={str(path): False})
    assert path.exists()
