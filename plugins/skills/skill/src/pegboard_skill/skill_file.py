"""One skill or command: what its file says about it. The text below the fields is read only when it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pegboard_definitions import FaultError, Markdown, read_markdown

NAME = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*")
NAME_RULE = "must be 1 to 64 ASCII letters, digits, blanks, dots, _ and -"
LONGEST_DESCRIPTION = 1_536
TEXT_FIELDS = ("description", "when_to_use", "argument-hint", "license", "compatibility")
FIELDS = (
    *("name", "description", "license", "compatibility", "metadata", "allowed-tools", "when_to_use", "argument-hint"),
    *("arguments", "disable-model-invocation", "user-invocable", "disallowed-tools", "model", "effort", "context"),
    *("agent", "background", "hooks", "paths", "shell", "version", "author", "tags", "category"),
)
EFFORTS = ("low", "medium", "high", "xhigh", "max")
COMMAND = re.compile(r"(?:^|(?<=\s))!`[^`\n]+`|^[ \t]*```!", re.MULTILINE)
"""Text that holds a command to run. It may be in a code block: here, too much is found rather than too little."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a file says about a skill. It is kept in an index, so it is plain data."""

    name: str
    description: str
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    hooks: Mapping[str, Any] = field(default_factory=dict, hash=False)
    for_model: bool = True
    for_people: bool = True
    forks: bool = False
    agent: str = ""
    background: bool = False
    paths: tuple[str, ...] = ()
    shell: str = ""
    runs_commands: bool = False
    quiet: tuple[str, ...] = ()
    """What is read although it is not quite right, or not used here."""

    def as_data(self) -> dict[str, Any]:
        """The head as JSON holds it."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Head:
        """The head from JSON."""
        plain: dict[str, Any] = {}
        for name, value in data.items():
            plain[name] = tuple(value) if isinstance(value, list) else value
        return cls(**plain)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill or command that can be used."""

    name: str
    head: Head
    path: str
    origin: str
    """`managed`, `user`, `project`, `package` or `plugin`."""
    is_command: bool = False
    trusted: bool = True
    """Whether what it allows counts, and whether its commands may run: not in an untrusted project."""
    variables: tuple[tuple[str, str], ...] = field(default=())
    """More names that its text may use, such as the folder of its plugin."""

    @property
    def folder(self) -> str:
        """Where its files lie."""
        return str(Path(self.path).parent)

    @property
    def slash(self) -> str:
        """What a person types after the slash."""
        return self.name.replace(" ", "-")

    @property
    def what(self) -> str:
        """The thing in words."""
        return f"The command /{self.slash}" if self.is_command else f"The skill {self.name}"

    @property
    def grants(self) -> tuple[str, ...]:
        """What it allows until the next prompt."""
        return self.head.allowed_tools if self.trusted else ()


def read_head(path: Path, default_name: str, *, is_command: bool) -> Head:
    """What a file says about a skill or command; raises `FaultError`."""
    found = read_markdown(path, text_fields=TEXT_FIELDS, known=FIELDS, needs_fields=False)
    name = default_name if is_command else _text(found, "name") or default_name
    if not NAME.fullmatch(name):
        raise FaultError(
            f"{found.place('name')}: The name {NAME_RULE}, got {name!r}. Other characters could be mistaken for these."
        )
    context = _text(found, "context")
    if context not in ("", "fork", "inline"):
        raise found.fault("context", f"must be fork or left out, got {context!r}.")
    return Head(
        name,
        _description(found),
        argument_hint=_hint(found),
        arguments=found.names("arguments", blanks=True) or (),
        allowed_tools=found.names("allowed-tools", blanks=True) or (),
        disallowed_tools=found.names("disallowed-tools", blanks=True) or (),
        model=_text(found, "model").replace("inherit", ""),
        effort=_text(found, "effort"),
        hooks=_hooks(found),
        for_model=not found.truth("disable-model-invocation", False),
        for_people=found.truth("user-invocable", True),
        forks=context == "fork",
        agent=_text(found, "agent"),
        background=found.truth("background", False),
        paths=() if is_command else _globs(found),
        shell=_text(found, "shell"),
        runs_commands=bool(COMMAND.search(found.body)),
        quiet=(*found.remarks, *found.quiet, *_remarks(found, name, default_name)),
    )


def read_body(path: str) -> str:
    """The text of a skill; raises `FaultError`."""
    return read_markdown(Path(path), text_fields=TEXT_FIELDS, known=FIELDS, needs_fields=False).body


def _text(found: Markdown, name: str) -> str:
    value = found.fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # A name such as 2024 is text that YAML takes for a number.
    return found.text(name)


def _hooks(found: Markdown) -> dict[str, Any]:
    """Plain data only: it is kept as JSON."""
    value = found.fields.get("hooks")
    if value and not isinstance(value, dict):
        raise found.fault("hooks", f"must be an object, got {value!r}.")
    made: dict[str, Any] = json.loads(json.dumps(value or {}, default=str))
    return made


def _description(found: Markdown) -> str:
    words = " ".join(filter(None, (found.text("description"), found.text("when_to_use"))))
    if not words:
        lines = (line.strip().lstrip("#").strip() for line in found.body.splitlines())
        words = next((line for line in lines if line), "")
    if not words:
        raise FaultError(f"{found.path}:1: There is no description and no text. Say what it does and when to use it.")
    return " ".join(words.split())[:LONGEST_DESCRIPTION]


def _hint(found: Markdown) -> str:
    """`argument-hint: [issue]` is text that YAML takes for a list."""
    value = found.fields.get("argument-hint")
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else _text(found, "argument-hint")


def _globs(found: Markdown) -> tuple[str, ...]:
    value = found.fields.get("paths")
    if isinstance(value, str):
        from pegboard_ignore import split_list  # Few skills have conditions.

        return tuple(split_list(value))
    return found.names("paths") or ()


def _remarks(found: Markdown, name: str, folder: str) -> list[str]:
    said: list[str] = []
    if name != folder:
        said.append(
            f"{found.place('name')}: The name {name!r} differs from that of the folder, {folder!r}. {name!r} is used."
        )
    unknown = [word for word in found.fields if word not in FIELDS]
    if unknown:
        words = ", ".join(map(str, unknown))
        said.append(f"{found.place(unknown[0])}: These fields have no meaning here and are ignored: {words}.")
    effort = _text(found, "effort")
    if effort and effort not in EFFORTS:
        said.append(f"{found.place('effort')}: effort is one of {', '.join(EFFORTS)}, got {effort!r}. It is ignored.")
    return said
