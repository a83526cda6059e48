"""What a question wants to know besides yes or no: a few fields, which a host shows in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pegboard.wording import listed

Kind: TypeAlias = Literal["text", "number", "integer", "boolean"]

KINDS: dict[Kind, tuple[type, ...]] = {"text": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,)}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers that a field offers."""

    value: str
    """What the answer contains."""
    title: str = ""
    """What a person reads instead of the value."""
    description: str = ""
    preview: str = ""
    """Text to look at before choosing, such as code or a drawing."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One thing to know: words, a number, yes or no, one choice or several."""

    name: str
    """The key of the answer."""
    question: str
    """What is asked, as a sentence."""
    header: str = ""
    """A word or two that stand for the question where there is little room."""
    kind: Kind = "text"
    choices: tuple[Choice, ...] = ()
    multiple: bool = False
    """Whether several choices may be taken. The answer is a list then."""
    own_words: str = ""
    """The title of a further choice: an answer in the person's own words. Empty where only the choices count."""
    default: Any = None
    required: bool = True
    many_lines: bool = False
    """Whether a text may be long, so that an editor is better than a line."""
    only_if: tuple[str, str] | None = None
    """The name and value of an earlier field: without that answer this one is not asked."""

    def is_asked(self, filled: Mapping[str, Any]) -> bool:
        """Whether this is asked after what was filled in before."""
        return self.only_if is None or filled.get(self.only_if[0]) == self.only_if[1]

    def problem(self, value: Any) -> str:
        """What is wrong with a value, as a sentence; empty if nothing is."""
        if self.multiple and not isinstance(value, list):
            return f"{self.name!r} must be a list."
        if self.multiple and self.required and not value:
            return f"{self.name!r} needs at least one choice."
        wrong = [one for one in (value if self.multiple else [value]) if not self._is_of_kind(one)]
        if wrong:
            return f"{self.name!r} must be {'a yes or no' if self.kind == 'boolean' else f'of the kind {self.kind}'}."
        known = [choice.value for choice in self.choices]
        strange = [one for one in (value if self.multiple else [value]) if known and one not in known]
        if strange and not self.own_words:
            return f"{self.name!r} must be one of {listed(map(repr, known))}, not {strange[0]!r}."
        return f"{self.name!r} must not be empty." if self.required and "" in (value, *strange) else ""

    def _is_of_kind(self, value: Any) -> bool:
        return isinstance(value, KINDS[self.kind]) and (self.kind == "boolean" or not isinstance(value, bool))


def fill(form: Sequence[FormField], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are asked, with what was given or their defaults. A `ValueError` says what does not fit."""
    filled: dict[str, Any] = {}
    for field in form:
        value = given.get(field.name)
        value = field.default if value is None else value
        if not field.is_asked(filled):
            continue
        if value is None and field.required:
            raise ValueError(f"{field.name!r} is not answered.")
        if value is not None:
            if problem := field.problem(value):
                raise ValueError(problem)
            filled[field.name] = value
    return filled
