"""Put arguments and known folders into the text of a skill. What is put in is not looked at again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pegboard_skill.shell_safety import fault_in

PLACE = re.compile(
    r"\\\$(?P<literal>ARGUMENTS|[0-9]+|[A-Za-z_]\w*|\{)"
    r"|\$ARGUMENTS\[(?P<at>[0-9]{1,4})\]"
    r"|\$(?P<all>ARGUMENTS)\b"
    r"|\$(?P<number>[0-9]{1,4})\b"
    r"|\$\{(?P<variable>[A-Z_]+)\}"
    r"|\$(?P<name>[A-Za-z_]\w*)"
)
FROM_ZERO = re.compile(r"(?<!\\)\$(?:0\b|ARGUMENTS\[)")


class ArgumentError(ValueError):
    """An argument that would become part of a command. The message is the character that does it."""


@dataclass(slots=True)
class Arguments:
    """What was given to a skill, and how its text refers to it."""

    raw: str
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    """What the first argument is called: `$0` in skills."""
    is_used: bool = False
    """Whether the text had a place for them."""

    @property
    def words(self) -> list[str]:
        """The arguments one by one, quoted as for a shell."""
        try:
            return shlex.split(self.raw)
        except ValueError:  # A quote without its end: blanks alone divide.
            return self.raw.split()

    def put_into(self, text: str) -> str:
        """The text with every reference replaced; one to an argument that is missing stays as it is."""
        return PLACE.sub(self._value(self.words), text)

    def put_into_command(self, command: str) -> str:
        """The same for a command, in which arguments stay arguments; raises `ArgumentError` where one would not."""
        value = self._value(self.words)

        def checked(found: re.Match[str]) -> str:
            said = value(found)
            if _is_given(found, said) and (fault := fault_in(command, found.start(), said)):
                raise ArgumentError(fault)
            return said

        return PLACE.sub(checked, command)

    def values_in(self, text: str) -> list[str]:
        """What was given, as far as a text refers to it."""
        value = self._value(self.words)
        return [said for found in PLACE.finditer(text) if _is_given(found, said := value(found))]

    def known_in(self, text: str) -> str:
        """The text with the known folders in it, and without what was given."""
        return PLACE.sub(lambda found: self._value([])(found) if found["variable"] else found[0], text)

    def _value(self, words: list[str]) -> Callable[[re.Match[str]], str]:
        def value(found: re.Match[str]) -> str:
            if found["literal"]:
                return found[0][1:]
            if found["all"]:
                self.is_used = True
                return self.raw
            if found["variable"]:
                return self.variables.get(found["variable"], found[0])
            if found["name"]:
                if found["name"] not in self.names:
                    return found[0]
                self.is_used = True
                at = self.names.index(found["name"])
                return words[at] if at < len(words) else ""
            at = int(found["at"]) if found["at"] else int(found["number"]) - self.first
            self.is_used = True
            return words[at] if 0 <= at < len(words) else found[0]

        return value


def _is_given(found: re.Match[str], said: str) -> bool:
    return not found["literal"] and not found["variable"] and said != found[0]


def first_number(text: str, *, is_command: bool) -> int:
    """What the first argument is called. Commands were written with `$1` for it, before `$0` was known."""
    return 1 if is_command and not FROM_ZERO.search(text) else 0
