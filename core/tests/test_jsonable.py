"""Whatever a tool returns can be shown as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from pegboard.content import json_text, jsonable


class Model(BaseModel):
    data: bytes
    where: Path = Field(default=Path("a"), alias="place")


@dataclass
class Plain:
    data: bytes


NO_TEXT = b"\x89\xff"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Model(data=b"text"), {"data": "text", "place": "a"}),
        (Model(data=NO_TEXT), {"data": "if8=", "place": "a"}),
        ([{"inner": Model(data=NO_TEXT)}], [{"inner": {"data": "if8=", "place": "a"}}]),
        (Plain(NO_TEXT), {"data": "if8="}),
        (NO_TEXT, "if8="),
        ({"object": object}, {"object": "<class 'object'>"}),
    ],
)
def test_a_value_is_shown_as_json(value: object, shown: object) -> None:
    assert jsonable(value) == shown
    assert json.loads(json_text(value)) == shown
