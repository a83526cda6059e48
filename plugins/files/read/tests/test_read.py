"""Read, through the door the model uses."""

import os
import socket
import subprocess
import sys
from dataclasses import replace

import anyio
import pytest

from pegboard import Call
from pegboard.settings import Layer


@pytest.fixture
def folder(ctx):
    return ctx.cwd


@pytest.fixture
def read(approve, call_tool):
    return lambda path, **given: call_tool("Read", file_path=str(path), **given)


@pytest.fixture
def read_in_conversation(approve, board, ctx):
    """Read in one conversation, as a session gives it to its calls."""
    files = ctx.files.fork(conversation=True)
    own = replace(ctx, services=replace(ctx.services, files=files))

    def read(path, **given):
        return anyio.run(board.dispatch, Call("1", "Read", {"file_path": path, **given}), own)

    read.files = files
    return read


def numbered(*lines, start=1):
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start))


def test_read_numbers_lines_from_one(read, folder):
    (folder / "a.txt").write_text("one\ntwo\n")
    assert read("a.txt").text == "1\tone\n2\ttwo"


def test_read_numbers_lines_from_the_offset_and_says_how_to_go_on(read, folder):
    (folder / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 11)))
    result = read("a.txt", offset=4, limit=2)
    assert result.text == "4\tline 4\n5\tline 5\n(PARTIAL: lines 4 to 5 of 10; continue with offset=6.)"
    assert (result.value.total_lines, result.value.partial) == (10, True)


def test_read_takes_offset_zero_as_one_and_counts_negative_ones_from_the_end(read, folder):
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    assert read("a.txt", offset=0, limit=1).value.start_line == 1
    assert read("a.txt", offset=-2).text == "2\ttwo\n3\tthree"
    assert read("a.txt", offset=-2, limit=1).text.startswith("2\ttwo\n(PARTIAL")
    assert read("a.txt", offset=-99).value.start_line == 1


def test_read_tells_an_empty_file_from_an_offset_past_the_end(read, folder):
    (folder / "empty").touch()
    (folder / "short").write_text("one\n")
    assert read("empty").text == f"{folder}/empty exists but is empty."
    assert read("short", offset=9).text == f"{folder}/short has 1 line; there is no line 9."


def test_read_speaks_the_documented_names(read, folder):
    (folder / "a.txt").write_text("one\n")
    data = read("a.txt").value.model_dump(by_alias=True)
    names = {"type", "filePath", "content", "numLines", "startLine", "totalLines", "truncatedByTokenCap"}
    assert names <= set(data)


@pytest.mark.parametrize(
    ("data", "shown", "newline"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", ["one", "two"], "\r\n"),
        (b"one\r\ntwo\nthree\n", ["one", "two", "three"], "\n"),
        (b"one\rtwo\r", ["one", "two"], "\r"),
        (b"a\x0bb\x0cc\xe2\x80\xa8d\n", ["a\x0bb\x0cc\u2028d"], "\n"),
        (b"\n\nx", ["", "", "x"], "\n"),
        ("ümlaut\n".encode("utf-16"), ["ümlaut"], "\n"),
        ("ümlaut\r\n".encode("utf-32"), ["ümlaut"], "\r\n"),
    ],
)
def test_read_hides_marks_and_carriage_returns_and_remembers_them(read, ctx, folder, data, shown, newline):
    (folder / "a.txt").write_bytes(data)
    assert read("a.txt").text == numbered(*shown)
    state = ctx.files.known(folder / "a.txt")
    assert (state.newline, state.complete) == (newline, True)
    assert state.bom == data.startswith((b"\xef\xbb\xbf", b"\xff\xfe"))
    assert state.mixed == (data == b"one\r\ntwo\nthree\n")


def test_read_cuts_very_long_lines_visibly_and_counts_the_rest(read, ctx, folder):
    (folder / "a.txt").write_text("x" * 5000 + "\nshort\n")
    assert read("a.txt").text == f"1\t{'x' * 2000}… (cut: 3,000 more characters in this line)\n2\tshort"
    assert not ctx.files.known(folder / "a.txt").complete


def test_a_whole_file_that_is_too_long_gives_its_first_page_and_does_not_count_as_read(read, ctx, folder):
    (folder / "a.txt").write_text("x\n" * 2500)
    result = read("a.txt")
    assert result.text.endswith("2000\tx\n(PARTIAL: lines 1 to 2000 of 2500; continue with offset=2001.)")
    assert not ctx.files.known(folder / "a.txt").complete
    read("a.txt", offset=2001)
    assert ctx.files.known(folder / "a.txt").complete  # Both pages together are the whole.


def test_the_token_budget_ends_a_page_but_fails_an_explicit_range(read, folder):
    (folder / "a.txt").write_text(("x" * 999 + "\n") * 300)
    result = read("a.txt")
    assert result.value.truncated_by_token_cap
    assert result.value.num_lines < 101
    follow = f"continue with offset={result.value.num_lines + 1}.)"
    assert result.text.endswith(follow)
    failed = read("a.txt", offset=1, limit=200)
    assert failed.code == "too_large"
    assert failed.text == (
        "These 200 lines are more than 25000 tokens. Use a smaller limit, or Grep to find the lines you need."
    )


def test_the_token_budget_is_a_setting(read, board, folder):
    (folder / "a.txt").write_text("word\n" * 1000)
    board.settings.layers.insert(0, Layer("cli", "test", {"read.maxTokens": 100}))
    assert read("a.txt").value.num_lines < 100


def test_a_file_in_pieces_gives_the_same_page_as_a_file_at_once(read, folder, ctx, monkeypatch):
    lines = [f"{number} é {'y' * (number % 70)}" for number in range(6000)]
    for newline, encoding in (("\n", "utf-8"), ("\r\n", "utf-8"), ("\r", "utf-8"), ("\r\n", "utf-16")):
        path = folder / "a.txt"
        path.write_bytes(newline.join(lines).encode(encoding))
        asked = [{}, {"offset": 5000, "limit": 20}, {"offset": -30}, {"offset": 5990}, {"offset": 9999}]
        whole = [(read("a.txt", **a).text, ctx.files.known(path)) for a in asked]
        ctx.files.forget(path)
        monkeypatch.setattr("pegboard_read.file_reader.HELD_BYTES", 1000)
        monkeypatch.setattr("pegboard_read.streams.PIECE", 4099)
        pieces = [(read("a.txt", **a).text, ctx.files.known(path)) for a in asked]
        monkeypatch.undo()
        ctx.files.forget(path)
        for one, other in zip(whole, pieces, strict=True):
            assert one[0] == other[0]
            assert (one[1].digest, one[1].newline, one[1].mixed) == (other[1].digest, other[1].newline, other[1].mixed)


MEASURE = """
import resource, sys
from pathlib import Path
from pegboard.context import Context, Services
from pegboard_files.service import LocalFiles
from pegboard_read import Read, ReadInput
import pegboard_read.encoding_guess, pegboard_read.streams
ctx = Context(Path(sys.argv[1]).parent, services=Services(files=LocalFiles()))
small = Path(sys.argv[1]).with_name("small"); small.write_text("x\\n")
Read().content(Read().call(ReadInput(file_path=small), ctx))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
value = Read().call(ReadInput(file_path=Path(sys.argv[1]), offset=eval(sys.argv[2]), limit=eval(sys.argv[3])), ctx)
Read().content(value)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before, value.num_lines, value.total_lines, ctx.files.known(Path(sys.argv[1])).digest == "")
"""


@pytest.mark.parametrize(
    ("make", "offset", "limit", "lines"),
    [
        ("lines", "1", "100", 100),
        ("lines", "900_000", "100", 100),
        ("lines", "-100", "None", 100),
        ("one line", "None", "None", 1),
    ],
)
def test_huge_files_are_read_in_little_memory_without_a_total(folder, make, offset, limit, lines):
    path = folder / "huge"
    with path.open("wb") as file:
        if make == "lines":  # A gigabyte, most of it one hole that costs no disk: lines of text at both ends.
            file.write(b"some words in a line\n" * 1_000_000)
            file.seek(1_000_000_000)
            file.write(b"\n" + b"the last lines\n" * 200)
        else:
            file.write(b"x" * 1_000_000)
            file.seek(500_000_000)
            file.write(b"x\n")
    command = [sys.executable, "-c", MEASURE, str(path), offset, limit]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) < 30_000  # kilobytes
    assert out[1:] == [str(lines), "None", "True"]


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda p: None, "not_found", "There is no file"),
        (lambda p: os.mkfifo(p), "unsupported", "is a named pipe; reading it would block until a process writes to it"),
        (lambda p: socket.socket(socket.AF_UNIX).bind(os.path.relpath(p)), "unsupported", "is a socket."),
        (lambda p: p.symlink_to("/dev/zero"), "unsupported", "is a character device, which may never end."),
        (lambda p: p.symlink_to("/proc/self/mem"), "unsupported", "cannot be read: Input/output error."),
        (lambda p: p.symlink_to(p), "invalid_input", "is a symbolic link that points back to itself."),
        (lambda p: p.symlink_to("gone"), "not_found", "is a symbolic link to gone, which does not exist."),
        (lambda p: p.write_bytes(b"\x7fELF\0\0"), "unsupported", "is an ELF program (6 bytes) and cannot be shown"),
        (lambda p: p.write_bytes(b"\1\2\3\4abcde\n"), "unsupported", "is a binary file (10 bytes)"),
        (lambda p: p.write_bytes(b"caf\xe9\n"), "unsupported", 'such as encoding="cp1252".'),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_read_refuses_what_it_cannot_show(read, folder, monkeypatch, make, code, words):
    monkeypatch.chdir(folder)  # The address of a socket must be short.
    make(folder / "thing")
    result = read("thing")
    assert (result.is_error, result.code) == (True, code), result.text
    assert words in result.text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a\0b", "file_path contains a NUL byte"),
        ("x" * 5000, "the limit for a path is 4096."),
        ("x" * 300, "is longer than 255 bytes, the limit for a file name."),
        ("file/below", "is a file, not a folder."),
        ("file ", "but there is 'file' without the spaces around it."),
        ("nowhere/at/all", "There is no folder"),
        ("a.txtt", "Did you mean a.txt"),
        ("\udcff", "surrogates not allowed"),
    ],
)
def test_read_explains_every_wrong_path_in_its_own_words(read, folder, path, words):
    (folder / "file").write_text("x")
    (folder / "a.txt").write_text("x")
    result = read(path)
    assert result.is_error
    assert words in result.text


def test_read_reads_names_with_spaces_at_the_end_and_shows_names_that_are_not_utf8(read, folder):
    (folder / "odd ").write_text("x")
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert read("odd ").text == "1\tx"
    assert "caf\\udce9.txt" in read(".").text
    assert "caf\\udce9.txt" in read("cafe.txt").text


def test_read_names_the_working_directory_when_a_file_is_missing(read, folder):
    (folder / "prices.py").touch()
    expected = f"There is no file {folder}/price.py. Did you mean prices.py? The working directory is {folder}."
    assert read("price.py").text == expected


def test_read_without_permission_says_so(read, folder):
    path = folder / "secret"
    path.write_text("x")
    path.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        result = read("secret")
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
    assert (result.code, "denies permission" in result.text) == ("permission_denied", True)


def test_read_lists_a_folder_a_page_at_a_time(read, folder):
    (folder / "sub").mkdir()
    (folder / "b.txt").touch()
    (folder / "link").symlink_to("b.txt")
    assert read(".").text.endswith("is a folder with 3 entries:\nb.txt\nlink@\nsub/")
    page = read(".", offset=2, limit=1)
    assert page.text.endswith("entries:\nlink@\n(PARTIAL: entries 2 to 2; continue with offset=3.)")
    assert read("sub").text == f"{folder}/sub is an empty folder."


GERMAN = "Der Bär ißt Äpfel und trinkt Öl. Über den Wölken, für immer schön. Straße größer müßte können.\n" * 2
RUSSIAN = "Привет мир, это проверка кодировки текста для программы.\n" * 2
JAPANESE = "これは日本語のテキストです。文字コードの検出を確認します。\n" * 2


@pytest.mark.parametrize(
    ("encoding", "text", "found"),
    [("cp1252", GERMAN, "cp1252"), ("cp1251", RUSSIAN, "cp1251"), ("shift_jis", JAPANESE, "cp932")],
)
def test_an_old_encoding_is_guessed_when_the_guess_is_sure_and_the_model_is_told(
    read, ctx, folder, encoding, text, found
):
    (folder / "a.txt").write_bytes(text.encode(encoding))
    result = read("a.txt")
    assert result.value.content == text.rstrip("\n")
    assert result.text.endswith(f"(The encoding is not declared; it was guessed to be {found}.)")
    assert ctx.files.known(folder / "a.txt").encoding == found


@pytest.mark.parametrize(
    ("rules", "text", "encoding"),
    [
        ({".editorconfig": "root=true\n[*.txt]\ncharset = latin1\n"}, "café\n", "latin-1"),
        ({".gitattributes": "*.txt working-tree-encoding=shift_jis\n"}, "表\n", "shift_jis"),
        ({".gitattributes": "*.txt working-tree-encoding=UTF-16LE\n"}, "plain\n", "utf-16-le"),
    ],
)
def test_a_declared_encoding_is_used_where_utf8_does_not_fit(read, folder, rules, text, encoding):
    for name, content in rules.items():
        (folder / name).write_text(content)
    (folder / "a.txt").write_bytes(text.encode(encoding))
    result = read("a.txt")
    assert (result.value.content, result.value.encoding) == (text.rstrip(), encoding)


def test_a_given_encoding_is_used_or_refused(read, folder):
    (folder / "a.txt").write_bytes(b"caf\xe9\n")
    assert read("a.txt", encoding="latin-1").text == "1\tcafé"
    assert "is not shift_jis text" in read("a.txt", encoding="shift_jis").text
    assert "There is no text encoding 'klingon'." in read("a.txt", encoding="klingon").text
    assert "is not a text encoding" in read("a.txt", encoding="base64").text


def test_a_repeated_read_of_an_unchanged_part_is_answered_shortly_once(read_in_conversation, folder):
    read = read_in_conversation
    path = folder / "a.txt"
    path.write_text("one\ntwo\n")
    assert read("a.txt").value.type == "text"
    again = read("a.txt")
    assert (again.value.type, "has not changed since you last read" in again.text) == ("file_unchanged", True)
    assert read("a.txt").value.type == "text"  # Whoever asks a third time does not have it any more.
    assert read("a.txt", limit=1).value.type == "text"
    os.utime(path, (1, 1))
    assert read("a.txt", limit=1).value.type == "file_unchanged"
    path.write_text("one\nTWO\n")
    assert read("a.txt").value.type == "text"


def test_after_compaction_everything_is_shown_again(read_in_conversation, folder):
    (folder / "a.txt").write_text("one\n")
    read_in_conversation("a.txt")
    read_in_conversation.files.forget_views()
    assert read_in_conversation("a.txt").value.type == "text"


def test_a_hook_that_takes_something_out_of_the_value_takes_it_out_of_the_words(board, folder, read):
    (folder / "a.txt").write_text("secret\nplain\n")
    value = read("a.txt").value
    tool = board.find("Read").tool
    assert tool.content(value.model_copy(update={"content": "(withheld)\nplain"})) == "1\t(withheld)\n2\tplain"


def test_read_needs_no_permission_at_home_and_says_what_it_reads(call_tool, board, ctx, folder):
    (folder / "a.txt").write_text("x")
    assert call_tool("Read", file_path="a.txt").decision.layer == "read-only"
    tool = board.find("Read").tool
    args = tool.input(file_path=folder / "a.txt", offset=3)
    facts = tool.facts(args, ctx)
    assert (facts.reads, facts.writes, facts.read_only, facts.concurrency_safe) == ((folder / "a.txt",), (), True, True)
    assert tool.describe(args) == f"Read {folder}/a.txt, from line 3"
    assert str(tool.render_use(args)) == f"Read {folder}/a.txt"


def test_importing_read_loads_nothing_heavy():
    code = "import sys, pegboard_read; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"PIL", "pypdfium2", "charset_normalizer", "rich", "rapidfuzz", "difflib"} & set(loaded)
