"""Schemas: few bytes, the same bytes everywhere."""

import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from pegboard import Context, Input, tool
from pegboard.schemas import schema_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    """One change."""

    title: str
    """A property that happens to be called title."""


class Tree(BaseModel):
    children: list["Tree"] = []


class PaintInput(Input):
    """Not repeated: the prompt says it."""

    file_path: Path
    """The file."""
    offset: Annotated[int, Field(ge=1)] | None = None
    """The first line."""
    colour: Colour = Colour.RED
    mode: Literal["a", "b"] | None = None
    edits: list[Inner] = []
    either: int | str | None = None


def test_a_schema_is_minimal_and_keeps_descriptions():
    assert schema_of(PaintInput) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["file_path"],
        "properties": {
            "file_path": {"type": "string", "description": "The file."},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line."},
            "colour": {"enum": ["red", "blue"], "type": "string", "default": "red"},
            "mode": {"enum": ["a", "b"], "type": "string"},
            "edits": {
                "type": "array",
                "default": [],
                "items": {
                    "type": "object",
                    "description": "One change.",
                    "required": ["title"],
                    "properties": {
                        "title": {
                            "type": "string",
                        }
                    },
                },
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
    }


def test_a_recursive_model_keeps_its_reference():
    class TreeInput(Input):
        root: Tree

    schema = schema_of(TreeInput)
    assert schema["properties"]["root"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_importing_a_tool_builds_no_schema_and_asking_twice_builds_one():
    @tool()
    def Paint(args: PaintInput, ctx: Context) -> str:
        """Paint."""
        return ""

    assert "definition" not in vars(Paint)
    assert Paint.definition is Paint.definition
    assert Paint.definition_bytes is Paint.definition_bytes


SNIPPET = """
from pathlib import Path
from pegboard import Input, Context, tool
class PaintInput(Input):
    file_path: Path
    zebra: int = 1
    apple: str | None = None
@tool()
def Paint(args: PaintInput, ctx: Context) -> str:
    "Paint, with ümlaut."
    return ""
import sys; sys.stdout.buffer.write(Paint.definition_bytes)
"""


def test_definition_bytes_do_not_depend_on_the_process():
    seen = {
        subprocess.run([sys.executable, "-c", SNIPPET], env={"PYTHONHASHSEED": str(seed)}, capture_output=True).stdout
        for seed in range(3)
    }
    assert len(seen) == 1
    assert "ümlaut".encode() in seen.pop()
