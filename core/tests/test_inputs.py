"""What a model sends: strict, but read with good will, and refused in sentences."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from pegboard import Input, ToolError
from pegboard.inputs import paths_of, validate


class Inner(BaseModel):
    name: str
    size: int = 0


class SampleInput(Input):
    file_path: Path
    offset: Annotated[int, Field(ge=1)] | None = None
    limit: int | None = None
    ratio: float = 1.0
    all: bool = False
    mode: Literal["content", "count"] = "content"
    note: str | None = None
    inner: list[Inner] = []


def check(**given):
    return validate("Read", SampleInput, {"file_path": "a", **given})


def refusal(raw):
    with pytest.raises(ToolError) as caught:
        validate("Read", SampleInput, raw)
    assert caught.value.code == "invalid_input"
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "given", "meant"),
    [
        ("offset", "10", 10),
        ("offset", " 7 ", 7),
        ("offset", 5.0, 5),
        ("ratio", "0.5", 0.5),
        ("ratio", 2, 2.0),
        ("all", "true", True),
        ("all", "False", False),
    ],
)
def test_numbers_and_booleans_in_text_are_understood(field, given, meant):
    args, notes = check(**{field: given})
    assert getattr(args, field) == meant
    assert type(getattr(args, field)) is type(meant)
    assert notes == (() if given == 2 else (f"{field}: {given!r} read as {meant!r}",))


@pytest.mark.parametrize("given", [True, "1_000", "1e3", "5x", "", "0x5", 5.5, "٣", "9" * 30])
def test_what_is_not_a_whole_number_is_refused(given):
    with pytest.raises(ToolError, match="offset must be a whole number"):
        check(offset=given)


@pytest.mark.parametrize("given", [1, 0, "yes", "1", ""])
def test_what_is_not_a_boolean_is_refused(given):
    with pytest.raises(ToolError, match="all must be true or false"):
        check(all=given)


@pytest.mark.parametrize("absent", [None, "null", "undefined"])
@pytest.mark.parametrize("field", ["offset", "limit", "ratio", "all", "mode", "note", "inner"])
def test_null_means_absent_for_what_may_be_left_out(field, absent):
    args, _ = check(**{field: absent})
    assert field not in args.model_fields_set


def test_null_for_what_is_needed_is_refused():
    assert refusal('{"file_path": null}') == "Read: Read needs the argument 'file_path'."


def test_a_nested_number_in_text_is_understood():
    args, notes = check(inner=[{"name": "a", "size": "3"}])
    assert args.inner[0].size == 3
    assert notes == ("size: '3' read as 3",)


def test_the_example_of_the_style_guide_reads_as_promised():
    class ReadInput(Input):
        file_path: Path
        offset: Annotated[int, Field(ge=1)] = 1
        limit: int = 10

    with pytest.raises(ToolError) as caught:
        validate("Read", ReadInput, '{"file_path": "a", "offset": 0, "lines": 4}')
    assert str(caught.value) == (
        "Read: offset must be 1 or more, got 0. Read has no argument 'lines'; did you mean 'limit'?"
    )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("{}", "Read needs the argument 'file_path'."),
        ('{"file_path": 5}', "file_path must be text, got 5."),
        ('{"file_path": "a", "mode": "all"}', "mode must be 'content' or 'count', got \"all\"."),
        ('{"file_path": "a", "note": 3}', "note must be text, got 3."),
        ('{"file_path": "a", "inner": [{"name": 1}]}', "inner[0].name must be text, got 1."),
        ('{"file_path": "a", "inner": {}}', "inner must be a list, got {}."),
        ('{"file_path": "a"', "the input is not valid JSON: EOF while parsing an object at line 1 column 17."),
        ('{"file_path": "a",}', "the input is not valid JSON: trailing comma at line 1 column 19."),
        ("", "the input is not valid JSON: EOF while parsing a value at line 1 column 0."),
        ("[]", "the input must be a JSON object, got a list."),
        ("null", "the input must be a JSON object, got null."),
        ('"text"', "the input must be a JSON object, got text."),
        ('{"file_path": "a\\u0000b"}', "file_path contains a NUL byte, which is not allowed in a path."),
        ('{"file_path": "a\x00b"}', "the input is not valid JSON: control character"),
        ('{"file_path": "\\ud800"}', "the input is not valid JSON: unexpected end of hex escape"),
        ('{"file_path": NaN}', "the input is not valid JSON"),
    ],
)
def test_each_fault_has_its_sentence(raw, words):
    assert words in refusal(raw)


def test_deep_nesting_is_refused_not_crashed():
    assert "not valid JSON: recursion limit exceeded" in refusal('{"file_path":' + "[" * 100_000)


def test_ten_megabytes_are_answered():
    assert "note must be text" not in str(
        validate("Read", SampleInput, {"file_path": "a", "note": "x" * 10_000_000})[1]
    )
    message = refusal({"file_path": "a", "offset": "x" * 10_000_000})
    assert len(message) < 200


def test_more_than_five_faults_are_counted_not_listed():
    message = refusal({f"key{i}": 1 for i in range(9)})
    assert message.endswith("There are 5 more errors.")


def test_an_input_that_json_cannot_hold_is_refused():
    assert "cannot be written as JSON" in refusal({"file_path": object()})


def test_paths_are_found_wherever_they_are():
    class Many(Input):
        one: Path
        some: list[Path] = []
        named: dict[str, Path] = {}
        text: str = ""

    args, _ = validate("X", Many, {"one": "a", "some": ["b", "c"], "named": {"k": "d"}, "text": "e"})
    assert [str(path) for _, path in paths_of(args)] == ["a", "b", "c", "d"]


def test_input_is_frozen_and_its_repr_is_short_of_surprises():
    args, _ = check()
    with pytest.raises(ValueError, match="frozen"):
        args.limit = 3


class Bounded(Input):
    names: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    word: Annotated[str, Field(min_length=2, max_length=3)] = "ab"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": []}, "names must have at least 1 item, got []."),
        ({"names": ["a"] * 3}, "names must have at most 2 items, got "),
        ({"word": "a"}, 'word must have at least 2 characters, got "a".'),
        ({"word": "abcd"}, 'word must have at most 3 characters, got "abcd".'),
    ],
)
def test_a_length_is_said_in_the_right_number(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError) as raised:
        validate("Count", Bounded, given)
    assert words in str(raised.value)
