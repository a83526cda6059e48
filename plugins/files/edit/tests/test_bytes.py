"""Whatever the encoding and the line ends: bytes outside the edited span are the bytes that were there."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard.context import Context, Services
from pegboard.errors import ToolError
from pegboard_edit import Edit, EditInput
from pegboard_files.service import LocalFiles, stat_state

LETTERS = {
    "utf-8": "aé中😀 \t",
    "utf-8-sig": "aé中😀 \t",
    "utf-16": "aé中😀 \t",
    "utf-16-be": "aé中 \t",
    "latin-1": "aéß \t",
    "cp1252": "aé€“ \t",
    "shift_jis": "aﾊ日本語表 \t",
    "gb18030": "a中文字é😀 \t",
}


def encoded(text: str, encoding: str) -> bytes:
    return b"\xfe\xff" + text.encode(encoding) if encoding == "utf-16-be" else text.encode(encoding)


@st.composite
def files_and_edits(draw):
    """Lines around a unique word, ended in one or in many ways, and what the word becomes."""
    encoding = draw(st.sampled_from(sorted(LETTERS)))
    letters = LETTERS[encoding]
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\r"]]))
    line = st.text(letters, max_size=8)

    def lines() -> str:
        return "".join(text + draw(st.sampled_from(ends)) for text in draw(st.lists(line, max_size=6)))

    before, after = lines() + draw(line), draw(line) + draw(st.sampled_from(ends)) + lines()
    last = draw(line) if draw(st.booleans()) else ""
    new = "\n".join(draw(st.lists(line, min_size=1, max_size=4)))
    return encoding, before, after + last, new


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bytes")


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files_and_edits())
def test_bytes_outside_the_edited_span_are_identical(folder: Path, case):
    encoding, before, after, new = case
    path = folder / "file.txt"
    data = encoded(f"{before}NEEDLE{after}", encoding)
    path.write_bytes(data)
    files = LocalFiles()
    bare = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    known = stat_state(path.stat(), sha256(data).hexdigest())
    files.note(path, replace(known, encoding=bare))
    ctx = Context(folder, services=Services(files=files))
    Edit().call(EditInput(file_path=path, old_string="NEEDLE", new_string=f"<{new}>"), ctx)
    head = encoded(before, encoding)
    tail = after.encode(bare)
    result = path.read_bytes()
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)].decode(bare)
    assert middle.replace("\r\n", "\n").replace("\r", "\n") == f"<{new}>"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files_and_edits(), st.data())
def test_random_spans_give_the_text_one_expects_or_an_error_and_no_change(folder: Path, case, data):
    encoding, before, after, new = case
    path = folder / "random.txt"
    content = encoded(before + after, encoding)
    path.write_bytes(content)
    bare = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    text = before + after
    view = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    start = data.draw(st.integers(0, len(view)))
    end = data.draw(st.integers(start, len(view)))
    files = LocalFiles()
    known = stat_state(path.stat(), sha256(content).hexdigest())
    files.note(path, replace(known, encoding=bare))
    ctx = Context(folder, services=Services(files=files))
    try:
        Edit().call(EditInput(file_path=path, old_string=view[start:end], new_string=new), ctx)
    except ToolError as error:
        assert (error.code in ("ambiguous", "invalid_input"), path.read_bytes()) == (True, content)  # noqa: PT017
        return
    mark = len(content) - len(text.encode(bare))
    result = path.read_bytes()
    assert result[:mark] == content[:mark]
    now = result[mark:].decode(bare)
    plain = now.replace("\r\n", "\n") if "\n" in now else now.replace("\r", "\n")
    assert plain == view[:start] + new + view[end:]
