"""The contract: what an author writes, and the conservative defaults behind it."""

from dataclasses import replace
from pathlib import Path

import pytest

from pegboard import API, Board, Change, Context, Facts, Input, Output, Tool, ToolError, tool
from pegboard.errors import CODES
from pegboard.settings import Settings


class PathInput(Input):
    file_path: Path
    more: list[Path] = []


class EmptyInput(Input):
    pass


@tool()
def Plain(args: PathInput, ctx: Context) -> str:
    """Do something.

    In two paragraphs.
    """
    return "done"


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Reader(args: PathInput, ctx: Context) -> str:
    """Read something."""
    return "read"


class Rich(Tool[EmptyInput, int]):
    """A rich tool."""

    def call(self, args: EmptyInput, ctx: Context, /) -> Output[int]:
        return Output(3, change=Change(mode="plan"))


@pytest.fixture
def here(tmp_path):
    return Context(tmp_path)


def test_both_ways_of_writing_give_the_same_kind_of_thing():
    assert isinstance(Plain, Tool)
    assert (Plain.name, Plain.prompt) == ("Plain", "Do something.\n\nIn two paragraphs.")
    rich = Rich()
    assert (rich.name, rich.prompt, rich.input, rich.output) == ("Rich", "A rich tool.", EmptyInput, int)
    assert (Plain.is_async, Reader.is_async, rich.is_async) == (False, True, False)


def test_an_author_who_says_nothing_gets_the_careful_defaults(here):
    assert Facts() == Facts(read_only=False, concurrency_safe=False, open_world=True, destructive=False)
    facts = Plain.facts(PathInput(file_path=Path("a"), more=[Path("~/b")]), here)
    assert facts.level == "mutating"
    assert facts.reads == facts.writes == (here.cwd / "a", Path("~/b").expanduser())


def test_paths_of_a_reading_tool_count_as_read_only(here):
    facts = Reader.facts(PathInput(file_path=Path("a")), here)
    assert (facts.reads, facts.writes, facts.level) == ((here.cwd / "a",), (), "read-only")


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        (Facts(read_only=True, open_world=False), "read-only"),
        (Facts(read_only=True, open_world=True), "mutating"),
        (Facts(read_only=True, open_world=False, destructive=True), "dangerous"),
    ],
)
def test_the_permission_level_follows_from_the_facts(facts, level):
    assert facts.level == level


def test_rules_and_hooks_see_absolute_paths(here):
    seen = Plain.observable_input(PathInput(file_path=Path("~/x")), here)
    assert seen == {"file_path": str(Path("~/x").expanduser())}
    seen = Plain.observable_input(PathInput(file_path=Path("sub/x")), here)
    assert seen == {"file_path": str(here.cwd / "sub/x")}


def test_a_person_reads_the_arguments_before_approving():
    assert Plain.describe(PathInput(file_path=Path("a b"))) == 'Plain file_path="a b"'


def test_every_code_has_a_remedy_and_an_unknown_code_is_refused():
    assert set(CODES) == {
        "invalid_input", "not_found", "permission_denied", "stale", "ambiguous", "no_match",
        "timeout", "cancelled", "too_large", "unsupported", "failed", "lost", "internal",
    }  # fmt: skip
    with pytest.raises(ValueError, match="'staale' is not an error code"):
        ToolError("x", code="staale")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("@tool\ndef T(args: I, ctx: Context) -> str: ...", "Write @tool() with parentheses"),
        ("@tool(readonly=True)\ndef T(args: I, ctx: Context) -> str: ...", "@tool() has no option 'readonly'"),
        ("@tool()\ndef T(args: I) -> str: ...", "T must take two parameters"),
        ("@tool()\ndef T(args, ctx: Context) -> str: ...", "annotate 'args' with a subclass of pegboard.Input"),
        ("@tool()\ndef T(args: int, ctx: Context) -> str: ...", "annotate 'args' with a subclass of pegboard.Input"),
        ("@tool()\ndef T(args: I, ctx: Context): ...", "annotate its return type"),
    ],
)
def test_a_wrong_definition_is_explained_at_once(source, words):
    with pytest.raises(TypeError) as caught:
        exec(source, {"tool": tool, "I": EmptyInput, "Context": Context})
    assert words in str(caught.value)


def test_a_change_gives_a_new_context_and_leaves_the_old_one(here):
    later = here.after(Change(cwd=Path("/srv"), mode="plan", loaded_tools=("X",)))
    assert (later.cwd, later.mode, later.loaded_tools) == (Path("/srv"), "plan", ("X",))
    assert here.mode == "default"
    here = replace(here, policy=Board(Settings(), [], env={}))
    assert here.after(Change(mode="dontAsk")).mode == "dontAsk"
    with pytest.raises(ValueError, match="'yolo' is not a permission mode"):
        here.after(Change(mode="yolo"))


def test_a_relative_path_is_not_tidied_by_text(here):
    assert str(here.resolve("a/../b")) == f"{here.cwd}/a/../b"


@pytest.mark.parametrize("service", ["files", "processes", "background", "model"])
def test_a_missing_service_says_so(here, service):
    with pytest.raises(ToolError, match="This host does not provide") as caught:
        getattr(here, service)
    assert caught.value.code == "unsupported"


def test_the_api_has_a_version():
    assert API == (1, 0)
