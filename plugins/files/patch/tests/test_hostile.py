"""Patches that mean harm, or are merely huge; and that any change survives the way through a patch and back."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import Board, Context, Deny, Services, ToolError
from pegboard.settings import Settings
from pegboard_files.service import LocalFiles
from pegboard_patch import ApplyPatch, ApplyPatchInput
from pegboard_patch.match import find_hunks
from pegboard_patch.parsing import PatchError, parse

BEGIN, END = "*** Begin Patch\n", "*** End Patch\n"


def facts(text, ctx):
    return ApplyPatch().facts(ApplyPatchInput(input=BEGIN + text + END), ctx)


def test_every_path_of_a_patch_is_judged(ctx):
    found = facts(
        "*** Add File: ../../up.txt\n+x\n*** Update File: /etc/hosts\n*** Move to: ~/.bashrc\n@@\n-x\n"
        "*** Delete File: link/../a\n",
        ctx,
    )
    assert Path("/etc/hosts") in found.reads
    assert Path("/etc/hosts") in found.deletes
    assert ctx.resolve(Path("../../up.txt")) in found.writes
    assert ctx.resolve(Path("~/.bashrc")) in found.writes
    assert ctx.resolve(Path("link/../a")) in found.deletes


@pytest.mark.parametrize(
    "part",
    [
        "*** Add File: ../{outside}/new.txt\n+x\n",
        "*** Add File: way/new.txt\n+x\n",
        "*** Update File: link.txt\n@@\n-secret\n+x\n",
        "*** Delete File: way/secret.txt\n",
        "*** Update File: own.txt\n*** Move to: way/own.txt\n",
    ],
)
def test_nothing_outside_is_touched_without_a_person(ctx, call_tool, board, part):
    outside = ctx.cwd.parent / f"{ctx.cwd.name}-outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (ctx.cwd / "way").symlink_to(outside)
    (ctx.cwd / "link.txt").symlink_to(outside / "secret.txt")
    (ctx.cwd / "own.txt").write_text("own\n")
    call_tool("Read", file_path="own.txt")
    result = call_tool("ApplyPatch", input=BEGIN + part.format(outside=outside.name) + END)
    assert isinstance(result.decision, Deny), result.text
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_edit_rules_govern_it(ctx):
    (ctx.cwd / "safe").mkdir()
    board = Board.load(cwd=ctx.cwd, settings={"permissions": {"allow": ["Edit"], "deny": ["Edit(/safe/**)"]}})
    text = f"{BEGIN}*** Add File: free.txt\n+x\n*** Add File: safe/new.txt\n+x\n{END}"
    result = board.call_sync("ApplyPatch", {"input": text})
    assert "Edit(/safe/**)" in result.text
    assert not (ctx.cwd / "free.txt").exists()
    assert not board.call_sync("ApplyPatch", {"input": f"{BEGIN}*** Add File: free.txt\n+x\n{END}"}).is_error


def test_a_link_is_neither_deleted_nor_moved(ctx, call_tool, approve):
    (ctx.cwd / "real.txt").write_text("a\n")
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    call_tool("Read", file_path="link.txt")
    for part in ("*** Delete File: link.txt\n", "*** Update File: link.txt\n*** Move to: b.txt\n"):
        result = call_tool("ApplyPatch", input=BEGIN + part + END)
        assert "is a symbolic link, which cannot be removed or moved here" in result.text
    assert (ctx.cwd / "link.txt").is_symlink()
    assert (ctx.cwd / "real.txt").exists()


def test_one_file_under_two_names_is_one_file(ctx, call_tool, approve):
    (ctx.cwd / "real.txt").write_text("a\nb\n")
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    text = "*** Update File: real.txt\n@@\n-a\n+x\n*** Update File: link.txt\n@@\n-b\n+y\n"
    assert "is in the patch twice" in call_tool("ApplyPatch", input=BEGIN + text + END).text


def test_ten_megabytes_are_refused_quickly(ctx, call_tool, approve):
    text = f"{BEGIN}*** Add File: big.txt\n" + "+" + "x" * 99 + "\n"
    text = text + ("+" + "x" * 99 + "\n") * 100_000 + END
    began = time.process_time()
    result = call_tool("ApplyPatch", input=text)
    assert "longer than 2,000,000 bytes. Apply it in parts." in result.text
    assert not (ctx.cwd / "big.txt").exists()
    assert time.process_time() - began < 20


@pytest.mark.parametrize("line", ["x", ""])
def test_lines_that_are_all_alike_take_no_time(line):
    view = f"{line}\n" * 50_000
    body = "".join(f" {line}\n" for _ in range(2_000))
    parts = parse(f"{BEGIN}*** Update File: a\n@@\n{body}-never there\n{END}")
    with pytest.raises(ToolError, match="does not fit"):
        find_hunks(view, parts[0].hunks, ("trailing-whitespace", "unicode"), "a")


def test_blank_lines_and_headers_without_end_take_no_time():
    began = time.process_time()
    [part] = parse(f"{BEGIN}*** Update File: a\n@@\n+x\n" + "\n" * 50_000 + f"+y\n{END}")
    assert len(part.hunks[0].lines) == 50_002
    for header in ("x", "x y"):
        parts = parse(f"{BEGIN}*** Update File: a\n" + f"@@ {header}\n" * 50_000 + f"-z\n{END}")
        with pytest.raises(ToolError, match="does not fit"):
            find_hunks("x y z\n" * 60_000 if header != "x" else "x\n" * 60_000, parts[0].hunks, (), "a")
    assert time.process_time() - began < 20


def test_a_person_is_told_where_a_file_is_moved():
    args = ApplyPatchInput(input=f"{BEGIN}*** Update File: notes.txt\n*** Move to: .git/hooks/pre-commit\n{END}")
    assert ApplyPatch().describe(args) == "Apply a patch: change notes.txt and move it to .git/hooks/pre-commit"


def test_too_many_changes_are_refused():
    with pytest.raises(PatchError, match="more than 5,000 changes"):
        parse(f"{BEGIN}*** Update File: a\n" + "@@\n-x\n" * 5_001 + END)


@given(st.text(alphabet=st.sampled_from("*+-@ \nBeginPatchEdUpdFl:Move to\r\0"), max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_either_read_or_refused_with_a_sentence(text):
    for whole in (text, BEGIN + text + "\n" + END, f"{BEGIN}*** Update File: a\n{text}\n{END}"):
        try:
            assert parse(whole)
        except PatchError as error:
            said = str(error)
            assert said.endswith(".")


def as_patch(before, after):
    """A V4A patch with the whole file as context: the one form that is never ambiguous."""
    from difflib import SequenceMatcher

    old, new = before.removesuffix("\n").split("\n"), after.removesuffix("\n").split("\n")
    made = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            made += [f" {line}" for line in old[a:b]]
        else:
            made += [f"-{line}" for line in old[a:b]] + [f"+{line}" for line in new[c:d]]
    return "\n".join(["*** Begin Patch", "*** Update File: a.txt", "@@", *made, "*** End Patch"])


LINES = st.lists(st.text(alphabet=st.sampled_from("ab é中*+-@ \t"), max_size=6), min_size=1, max_size=12)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_change_survives_the_way_through_a_patch_and_back(tmp_path, old, new, newline, ends, encoding):
    last = "x"  # A last line with words in it, so that a missing line end is visible.
    before, after = ("\n".join([*lines, last]) + ("\n" if ends else "") for lines in (old, new))
    if before == after:
        return
    path = tmp_path / "a.txt"
    bytes_of = {text: text.replace("\n", newline).encode(encoding) for text in (before, after)}
    path.write_bytes(bytes_of[before])
    ctx = Context(tmp_path, Settings([], cwd=str(tmp_path)), services=Services(files=LocalFiles()))
    ApplyPatch().call(ApplyPatchInput(input=as_patch(before, after)), ctx)
    assert path.read_bytes() == bytes_of[after]
    ApplyPatch().call(ApplyPatchInput(input=as_patch(after, before)), ctx)
    assert path.read_bytes() == bytes_of[before]
