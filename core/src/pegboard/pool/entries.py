"""The pool: which tools there are for a request, in an order that keeps the provider's cache warm."""

from __future__ import annotations

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    from pegboard.extensions import Profile, ToolInfo
    from pegboard.records import ToolOwner, ToolRecord

    Edit = Callable[[dict[str, Any], Profile], dict[str, Any] | None]

PARTITIONS = ("built-in", "third-party", "dynamic")


class Entry:
    """One tool in the pool, as plain data. The tool itself may not be imported yet."""

    __slots__ = ("deferred", "dist", "entry", "family", "overrides", "partition", "record", "version")

    def __init__(self, record: ToolRecord, plugin: ToolOwner, partition: str) -> None:
        self.record, self.partition = record, partition
        self.dist, self.version = plugin["dist"], plugin["version"]
        self.entry, self.family = plugin["entry"], plugin["family"]
        self.overrides = plugin.get("overrides", False)
        self.deferred = False

    @property
    def name(self) -> str:
        """What the model calls."""
        return self.record["name"]

    @property
    def definition(self) -> bytes:
        """What the model sees, as canonical bytes."""
        return self.record["definition"]

    @property
    def server(self) -> str:
        """What people know the tool by: the server in `mcp__server__tool`, else its source, else its family."""
        if self.partition != "dynamic":
            return self.family
        parts = self.name.split("__")
        return parts[1] if len(parts) > 2 and parts[0] == "mcp" and parts[1] else self.dist

    def as_deferred(self) -> Entry:
        """The same tool, deferred."""
        made = object.__new__(Entry)
        for name in Entry.__slots__:
            setattr(made, name, getattr(self, name))
        made.deferred = True
        return made

    @property
    def tokens(self) -> int:
        """A fair guess of what the definition costs: four bytes a token."""
        return -(-len(self.definition) // 4)


class Absent:
    """A tool that is known but not in the pool, and which layer took it out."""

    __slots__ = ("dist", "family", "layer", "name", "reason")

    def __init__(self, name: str, dist: str, family: str, layer: str, reason: str) -> None:
        self.name, self.dist, self.family, self.layer, self.reason = name, dist, family, layer, reason


class Pool:
    """The tools of one moment. Adding a later tool never changes a byte of an earlier partition."""

    __slots__ = ("_by_name", "absent", "entries", "notices", "version")

    def __init__(
        self, entries: Sequence[Entry], absent: Sequence[Absent] = (), notices: Sequence[Any] = (), version: int = 0
    ) -> None:
        self.entries = sorted(entries, key=lambda entry: (PARTITIONS.index(entry.partition), entry.name))
        self.absent = sorted(absent, key=lambda gone: (gone.name, gone.dist))
        self.notices = list(notices)
        self.version = version
        self._by_name = {alias: entry for entry in reversed(self.entries) for alias in entry.record["aliases"]}
        self._by_name |= {entry.name: entry for entry in self.entries}

    def get(self, name: str) -> Entry | None:
        """The entry with this name or alias. Deferred tools can be called too."""
        return self._by_name.get(name)

    @property
    def names(self) -> list[str]:
        """The names of all tools that can be called, in pool order."""
        return [entry.name for entry in self.entries]

    def infos(self) -> dict[str, ToolInfo]:
        """What each tool declares about permission rules, by every name that means something here."""
        from pegboard.extensions import ToolInfo  # It imports pydantic; listing commands do without.

        made = {gone.name: ToolInfo(gone.name, known=False) for gone in self.absent}
        for name, entry in self._by_name.items():
            record, aliases = entry.record, tuple(entry.record["aliases"])
            subject, parameter = record["rule_subject"], record["rule_parameter"]
            made[name] = ToolInfo(entry.name, aliases, subject, parameter, record["capability"])
        return made

    def listed(self, loaded: Sequence[str] = ()) -> list[Entry]:
        """What the model sees: all that is not deferred, and after the last partition what was fetched, in that order.

        So fetching a tool changes nothing before it.
        """
        return [entry for entry in self.entries if not entry.deferred] + self.fetched(loaded)

    def fetched(self, loaded: Sequence[str]) -> list[Entry]:
        """The deferred tools among these names, in their order."""
        found = (self.get(name) for name in dict.fromkeys(loaded))
        return [entry for entry in found if entry and entry.deferred]

    def deferring(self, names: Collection[str]) -> Pool:
        """The same pool with these tools deferred: callable, but not listed before they are fetched."""
        if not names:
            return self
        entries = [entry.as_deferred() if entry.name in names else entry for entry in self.entries]
        return Pool(entries, self.absent, self.notices, self.version)

    def guidance(self) -> list[str]:
        """What the listed tools add to the system prompt, in pool order. Fetching a tool does not change it."""
        guides = (entry.record["guidance"] for entry in self.entries if not entry.deferred)
        return [guidance for guidance in guides if guidance]

    def request_bytes(self, loaded: Sequence[str] = ()) -> bytes:
        """The list of definitions as it goes into a request; the same in every process and under every hash seed."""
        return b"[" + b",".join(entry.definition for entry in self.listed(loaded)) + b"]"

    @property
    def fingerprint(self) -> str:
        """A name for exactly this list of definitions."""
        from hashlib import sha256

        return sha256(self.request_bytes()).hexdigest()

    def why_absent(self, name: str) -> str:
        """Why this tool is not here."""
        reasons = [gone.reason for gone in self.absent if gone.name == name]
        return " ".join(reasons) or f"No installed plugin provides a tool named {name}."


def edited(pool: Pool, edits: Sequence[Edit], profile: Profile, loaded: Sequence[str]) -> list[dict[str, Any]]:
    """What a certain model is shown: the definitions in pool order, after every `edit_definition`."""
    return [edited_definition(entry, edits, profile) for entry in pool.listed(loaded)]


def edited_definition(entry: Entry, edits: Iterable[Edit], profile: Profile) -> dict[str, Any]:
    """One of these definitions. An edit may reword a tool, never rename it: calls are found by name."""
    import json

    from pegboard.errors import DefinitionError

    definition: dict[str, Any] = json.loads(entry.definition)
    for edit in edits:
        definition = edit(definition, profile) or definition
    if definition.get("name") != entry.name:
        raise DefinitionError(f"edit_definition renamed {entry.name} to {definition.get('name')!r}. Keep the name.")
    return definition
