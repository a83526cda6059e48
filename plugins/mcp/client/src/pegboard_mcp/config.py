"""One MCP server as a file describes it, checked, with its variables filled in."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from pegboard.wording import shown

KINDS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
"""What `type` may be, and what is meant."""

FIELDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "type": (str, "text"),
    "command": (str, "text"),
    "args": (list, "a list of strings"),
    "env": (dict, "an object with string values"),
    "cwd": (str, "text"),
    "url": (str, "text"),
    "headers": (dict, "an object with string values"),
    "headersHelper": (str, "text"),
    "disabled": (bool, "true or false"),
    "enabled": (bool, "true or false"),
    "tools": ((list, dict), 'a list of names, or {"allow": […], "deny": […]}'),
    "timeout": ((int, float), "a number of seconds"),
    "alwaysLoad": (bool, "true or false"),
    "always_load": (bool, "true or false"),
    "oauth": (dict, "an object"),
    "description": (str, "text"),
}
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
MILLISECONDS = 1000
"""A timeout from here on is in milliseconds, as other hosts write it."""


class ConfigError(ValueError):
    """A server that cannot be used as it is described. The message is a sentence for the person."""


@dataclass(frozen=True)
class ServerConfig:
    """A server under its name. `layer` says whose word it is, `source` where it is written."""

    name: str
    entry: Mapping[str, Any]
    layer: str = "user"
    source: str = ""
    scope: str = ""
    """The project that it belongs to; empty for one of the person."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def kind(self) -> str:
        """`stdio`, `http` or `sse`."""
        named = self.entry.get("type")
        return KINDS[named] if named else ("stdio" if "command" in self.entry else "http")

    @property
    def from_project(self) -> bool:
        """Whether it came with a project rather than from the person or the owner of the machine."""
        return bool(self.scope)

    @property
    def enabled(self) -> bool:
        """Whether it is to be used at all."""
        return bool(self.entry.get("enabled", True)) and not self.entry.get("disabled", False)

    @property
    def always_load(self) -> bool:
        """Whether its tools are never deferred."""
        return bool(self.entry.get("alwaysLoad", self.entry.get("always_load", False)))

    @property
    def timeout(self) -> float | None:
        """Seconds that a call may take; None leaves it to the settings."""
        given = self.entry.get("timeout")
        return None if given is None else given / 1000 if given >= MILLISECONDS else float(given)

    def offers(self, tool: str) -> bool:
        """Whether the server's tool of this name may be used here."""
        said = self.entry.get("tools", {})
        allow, deny = (said, ()) if isinstance(said, list) else (said.get("allow", ["*"]), said.get("deny", ()))
        return _fits(tool, allow) and not _fits(tool, deny)

    def text(self, key: str) -> str:
        """A text of the entry with its variables filled in."""
        return expand(self.entry.get(key, ""), self.env)

    def texts(self, key: str) -> list[str]:
        """A list of texts with their variables filled in."""
        return [expand(item, self.env) for item in self.entry.get(key, ())]

    def map(self, key: str) -> dict[str, str]:
        """Texts by name with their variables filled in."""
        return {name: expand(value, self.env) for name, value in self.entry.get(key, {}).items()}

    @cached_property
    def digest(self) -> str:
        """The hash of what is started or reached: another command is another server. Variables stay unexpanded."""
        words = json.dumps(_launch(self.entry), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()

    @cached_property
    def key(self) -> str:
        """The name of its files in the cache and the state folder."""
        return hashlib.sha256(f"{self.scope}\0{self.name}".encode()).hexdigest()[:32]

    @property
    def address(self) -> str:
        """What is started or reached, as written: no secret is filled in."""
        if self.kind == "stdio":
            return " ".join([self.entry["command"], *self.entry.get("args", ())])
        return str(self.entry["url"])


def _launch(entry: Mapping[str, Any]) -> dict[str, Any]:
    named = ("type", "command", "args", "env", "cwd", "url", "headers", "oauth")
    return {key: entry[key] for key in named if key in entry} | {"headersHelper": entry.get("headersHelper", "")}


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def expand(text: str, env: Mapping[str, str]) -> str:
    """`${NAME}` and `${NAME:-default}` filled in. A variable that is not set and has no default is an error."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = env.get(name) or default
        if found is None and name not in env:
            raise ConfigError(f"The variable {name} is not set. Set it, or write ${{{name}:-default}}.")
        return found or ""

    return VARIABLE.sub(value, text)


def problems(entry: Any) -> Iterator[str]:
    """What is wrong with an entry, as sentences. Unknown fields are among them but do not make it useless."""
    if not isinstance(entry, dict):
        yield f"It must be an object, got {shown(entry)}."
        return
    if not _can_be_written(entry):
        yield "It has halves of characters, or is nested too deeply. Write it anew."
        return
    for key, (kind, words) in FIELDS.items():
        value = entry.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
            yield f"{key} must be {words}, got {shown(value)}."
            return
    for key in ("env", "headers"):
        if not all(isinstance(value, str) for value in entry.get(key, {}).values()):
            yield f"{key} must be an object with string values."
    if not all(isinstance(word, str) for word in entry.get("args", ())):
        yield "args must be a list of strings."
    if entry.get("type") and entry["type"] not in KINDS:
        yield f"There is no type {shown(entry['type'])}. The types are stdio, http and sse."
    elif "command" not in entry and "url" not in entry:
        yield "It needs a command to start, or a url to connect to."
    elif KINDS.get(entry.get("type", ""), "") in ("http", "sse") and "url" not in entry:
        yield f"A server of the type {entry['type']} needs a url."
    elif entry.get("type") == "stdio" and "command" not in entry:
        yield "A server of the type stdio needs a command."
    elif "url" in entry and "command" not in entry and not re.match(r"https?://|\$\{", entry["url"]):
        yield f"The url must begin with http:// or https://, got {shown(entry['url'])}."
    timeout = entry.get("timeout")
    if timeout is not None and not 0 < timeout < math.inf:
        yield f"timeout must be above 0, got {shown(timeout)}."
    yield from _login_problems(entry.get("oauth", {}))
    tools = entry.get("tools")
    lists = tools.values() if isinstance(tools, dict) else [tools or []]
    if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
        yield 'tools must be a list of names, or {"allow": […], "deny": […]}.'


def _can_be_written(entry: Any) -> bool:
    """Whether an entry can be hashed and handed to a process: JSON can spell halves of characters, UTF-8 cannot."""
    try:
        return bool(json.dumps(entry, ensure_ascii=False).encode())
    except (UnicodeEncodeError, RecursionError):
        return False


def _login_problems(said: Mapping[str, Any]) -> Iterator[str]:
    for key in ("clientId", "clientSecret", "scope", "clientMetadataUrl"):
        if not isinstance(said.get(key, ""), str):
            yield f"oauth.{key} must be text, got {shown(said[key])}."
    port = said.get("callbackPort", 1)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65_536:
        yield f"oauth.callbackPort must be a whole number from 1 to 65535, got {shown(port)}."


def without_nothing(entry: Any) -> Any:
    """The entry without the fields that are null: other hosts write `"env": null` where there is none."""
    if not isinstance(entry, dict):
        return entry
    return {key: without_nothing(value) for key, value in entry.items() if value is not None}


def unknown_fields(entry: Mapping[str, Any]) -> list[str]:
    """Fields that mean nothing here."""
    return sorted(key for key in entry if key not in FIELDS)
