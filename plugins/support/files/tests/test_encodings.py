"""Bytes to text and back, line ends, and what a project declares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.errors import ToolError
from pegboard_files.encodings import (
    NotTextError,
    Places,
    bom_of,
    canonical,
    charset_of,
    decode,
    encode,
    is_binary,
    is_stateful,
    newline_of,
    view_of,
)
from pegboard_files.patches import patch
from pegboard_files.placeholders import placeholders
from pegboard_files.text_style import Style, declared_style, style_for_new


@pytest.mark.parametrize(
    ("data", "encoding", "by"),
    [
        (b"plain", "utf-8", "utf-8"),
        (b"\xef\xbb\xbfx", "utf-8", "bom"),
        ("x".encode("utf-16"), "utf-16-le", "bom"),
        (b"\xfe\xff\0x", "utf-16-be", "bom"),
        ("x".encode("utf-32"), "utf-32-le", "bom"),
        (b"caf\xe9", "cp1252", "guess"),
    ],
)
def test_the_encoding_is_found_by_mark_utf8_and_guess_in_this_order(data, encoding, by):
    found = charset_of(data, guess=lambda _: "cp1252")
    assert (found.encoding, found.found_by) == (encoding, by)


def test_what_is_declared_comes_before_a_guess_and_must_fit():
    assert charset_of(b"caf\xe9", declared=lambda: "latin-1", guess=lambda _: "cp1252").encoding == "latin-1"
    assert charset_of(b"caf\xe9", declared=lambda: "ascii", guess=lambda _: "cp1252").encoding == "cp1252"
    assert charset_of(b"x\0y\0", declared=lambda: "utf-16-le").encoding == "utf-16-le"


@pytest.mark.parametrize(("data", "binary"), [(b"a\0b", True), (b"caf\xe9", False), (b"\1\2\3\4\5ab", True)])
def test_what_is_no_text_says_which_kind_of_no(data, binary):
    with pytest.raises(NotTextError) as caught:
        charset_of(data)
    assert caught.value.binary is binary


def test_a_head_may_end_inside_a_character():
    head = "é".encode()[:1]
    assert charset_of(head, whole=False).encoding == "utf-8"
    with pytest.raises(NotTextError):
        charset_of(head)


def test_escape_sequences_and_tabs_are_text():
    assert not is_binary(b"\x1b[31mred\x1b[0m\t\r\n\f")
    assert bom_of(b"no") is None


def test_encodings_have_one_name_each():
    names = ("UTF8", "utf-8-sig", "Latin1", "SHIFT_JIS", "windows-1252", "UTF-16LE")
    assert [canonical(name) for name in names] == ["utf-8", "utf-8", "latin-1", "shift_jis", "cp1252", "utf-16-le"]
    assert [is_stateful(name) for name in ("utf-7", "iso2022_jp", "hz", "gb18030")] == [True, True, True, False]
    for wrong in ("klingon", "rot13", "base64"):
        with pytest.raises(ToolError):
            canonical(wrong)


def test_a_byte_or_character_that_does_not_fit_is_named():
    with pytest.raises(ToolError, match=r"byte 4 \(0xff, line 2\) cannot be decoded"):
        decode(b"ab\nc\xff", "utf-8", "a.txt")
    with pytest.raises(ToolError, match=r"cannot represent '€' \(U\+20AC, line 2 of the result\)"):
        encode("a\n€", "latin-1", "a.txt")
    with pytest.raises(ToolError, match=r"a lone surrogate \(U\+D800"):
        encode("\ud800", "utf-8", "a.txt")


@pytest.mark.parametrize(
    ("text", "newline", "mixed"),
    [
        ("a\nb\n", "\n", False),
        ("a\r\nb\r\n", "\r\n", False),
        ("a\r\nb\nc\n", "\n", True),
        ("a\r\nb\r\nc\n", "\r\n", True),
        ("a\rb\r", "\r", False),
        ("a\rb\n", "\n", False),
        ("", "\n", False),
    ],
)
def test_line_ends_are_counted(text, newline, mixed):
    assert newline_of(text) == (newline, mixed)


@given(st.text("ab\r\n", max_size=30))
def test_every_place_in_a_view_leads_back_to_the_same_character(text):
    newline, _ = newline_of(text)
    view, places = view_of(text, newline), Places(text, newline)
    assert places.original(len(view)) == len(text)
    for at, character in enumerate(view):
        here = text[places.original(at)]
        assert here == character or (character == "\n" and here == "\r")


EDITORCONFIG = """
root = true
[*]
charset = utf-8
[*.{bat,cmd}]
end_of_line = crlf
charset = latin1
[docs/**.txt]
charset = utf-16le
[file{1..3}.c]
end_of_line = cr
[[abc].py]
end_of_line = crlf
"""


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("a.txt", Style("utf-8", False, None)),
        ("deep/er/x.cmd", Style("latin-1", False, "\r\n")),
        ("docs/a/b.txt", Style("utf-16-le", True, None)),
        ("file2.c", Style("utf-8", False, "\r")),
        ("file4.c", Style("utf-8", False, None)),
        ("b.py", Style("utf-8", False, "\r\n")),
        ("d.py", Style("utf-8", False, None)),
    ],
)
def test_editorconfig_is_read_by_its_globs(tmp_path, name, style):
    (tmp_path / ".editorconfig").write_text(EDITORCONFIG)
    assert declared_style(tmp_path / name) == style


def test_the_nearest_editorconfig_wins_and_gitattributes_fill_up(tmp_path):
    (tmp_path / ".editorconfig").write_text("root=true\n[*]\nend_of_line=lf\n")
    (tmp_path / ".gitattributes").write_text(
        "*.txt working-tree-encoding=UTF-16\n/a/*.txt working-tree-encoding=cp1252\n"
    )
    inner = tmp_path / "a"
    inner.mkdir()
    (inner / ".editorconfig").write_text("[*.txt]\nend_of_line=crlf\n")
    assert declared_style(inner / "x.txt") == Style("cp1252", False, "\r\n")
    assert declared_style(tmp_path / "x.txt") == Style("utf-16-le", True, "\n")


def test_new_files_look_like_their_siblings(tmp_path):
    (tmp_path / "a.cs").write_bytes(b"\xef\xbb\xbfx\r\n")
    (tmp_path / "b.cs").write_bytes(b"\xef\xbb\xbfx\r\n")
    (tmp_path / "c.cs").write_bytes(b"x\n")
    (tmp_path / "d.cs").write_bytes(b"\0binary")
    assert style_for_new(tmp_path / "new.cs") == Style("utf-8", True, "\r\n")
    assert style_for_new(tmp_path / "new.py") == Style()


def test_a_patch_finds_the_lines_that_changed():
    old = "".join(f"{number}\n" for number in range(20))
    made = patch(old, old.replace("5\n", "five\n", 1).replace("18\n", ""))
    assert [(hunk.old_start, hunk.new_start) for hunk in made.hunks] == [(3, 3), (16, 16)]
    assert (made.added, made.removed) == (1, 2)
    assert patch("a\n", "a\n").hunks == ()
    assert "\\ No newline at end of file" in patch("a\n", "a").text("f")
    assert patch("", "a\n").hunks[0].old_start == 0


def test_a_huge_patch_is_one_replacement_and_cut_in_words():
    made = patch("a\n" * 5000 + "same\n", "b\n" * 5000 + "same\n")
    assert (len(made.hunks), made.added, made.removed) == (1, 5000, 5000)
    assert made.text("f", 10).endswith("more lines of the diff not shown)")


@pytest.mark.parametrize(
    ("line", "stands_in"),
    [
        ("# ... rest of the code ...", True),
        ("    // ... existing code ...", True),
        ("/* rest of file unchanged */", True),
        ("// remaining methods unchanged", True),
        ("<!-- rest of the content -->", True),
        ("[... rest of file unchanged ...]", True),
        ("# the rest of the config is optional", False),
        ("# The code is unchanged for speed reasons", False),
        ("# Keep existing code paths working", False),
        ("x = ...", False),
        ("    ...", False),
        ("# ...", False),
    ],
)
def test_lines_that_stand_for_left_out_text_are_spotted(line, stands_in):
    assert bool(placeholders(f"a\n{line}\nb")) is stands_in
    assert placeholders(f"a\n{line}\nb", old=line) == []
