"""The fields of a definition, from YAML that may be hostile: plain values, lists and objects, each with its line.

Nothing is constructed but text, small whole numbers, true, false, nothing, lists and objects. Aliases are refused: a
few lines of them stand for more than any memory holds.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

WHOLE = re.compile(r"[-+]?[0-9]{1,9}")
TRUTH = {"true": True, "false": False}
"""What counts as true or false. YAML 1.1 reads yes, no, on and off so as well; here they are text."""

MOST_BRACKETS, MOST_LINES = 200, 500

Fields = dict[str, Any]


class FieldsError(Exception):
    """What is wrong, and in which line of the fields, from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class NotYamlError(FieldsError):
    """The text does not follow the grammar of YAML. All else that is refused, is refused on purpose."""


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise FieldsError(mark.line + 1, "Aliases such as *name are not supported.")
        return super().compose_node(parent, index)


class Unreadable:
    """A value of a kind that no field has, as it was written."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


class Nested(dict[str, Any]):
    """An object as the value of a field. Most fields have none, and say so in these words."""

    def __repr__(self) -> str:
        return "an object"


class NestedList(list[Any]):
    """A list that holds more than plain values."""

    def __repr__(self) -> str:
        return "a list of lists or objects"


def read_fields(text: str) -> tuple[Fields, dict[str, int]]:
    """The values, and the line of each field."""
    _require_flat(text)
    try:
        return _read(text)
    except RecursionError:
        raise FieldsError(1, "The YAML is nested too deeply.") from None


def _read(text: str) -> tuple[Fields, dict[str, int]]:
    try:
        node = yaml.compose(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise NotYamlError(line, f"This is not valid YAML: {problem}. Text with a colon needs quotes.") from None
    except (ValueError, OverflowError):  # PyYAML lets "\\U00110000" reach chr().
        raise FieldsError(1, "This is not valid YAML: it escapes a character that does not exist.") from None
    if not isinstance(node, yaml.MappingNode):
        raise FieldsError(1, "Expected fields such as name and description.")
    fields: Fields = {}
    lines: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise FieldsError(line, "Expected the name of a field before the colon.")
        if key.value in lines:
            raise FieldsError(line, f"Duplicate field {key.value!r}.")
        fields[key.value], lines[key.value] = _value(value), line
    return fields, lines


def _require_flat(text: str) -> None:
    """Refuse what no definition needs and what takes the parser a second: thousands of brackets or lines."""
    if sum(map(text.count, "[]{}")) > MOST_BRACKETS:
        raise FieldsError(1, f"The fields have more than {MOST_BRACKETS} brackets.")
    if text.count("\n") > MOST_LINES:
        raise FieldsError(1, f"The fields have more than {MOST_LINES} lines.")


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        items = [_value(item) for item in node.value]
        return items if all(isinstance(item, yaml.ScalarNode) for item in node.value) else NestedList(items)
    if isinstance(node, yaml.MappingNode):
        pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        return Nested((str(key), _value(value)) for key, value in pairs)
    return Unreadable("a value of an unknown kind")


def _scalar(node: yaml.ScalarNode) -> Any:
    words, kind = str(node.value), str(node.tag).removeprefix("tag:yaml.org,2002:")
    if kind == "null":
        return None
    if kind == "bool" and words.lower() in TRUTH:
        return TRUTH[words.lower()]
    if kind == "int" and WHOLE.fullmatch(words):
        return int(words)
    if kind in ("str", "bool", "timestamp"):
        return words
    return Unreadable(words if len(words) <= 60 else words[:57] + "...")
