"""What rules can be about: two capabilities, and what each tool declares for its parentheses.

The capabilities have the names of the two tools that are governed by nothing else. They are words of the rule language:
`Read(*.pem)` and `Edit(/src/**)` govern every tool that reads or changes files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pegboard import Tool, ToolInfo

READ, EDIT = "Read", "Edit"
CAPABILITIES = (READ, EDIT)
BY_DECLARATION = {"read": READ, "edit": EDIT}


@dataclass(frozen=True, slots=True)
class Subject:
    """What the parentheses of rules for one tool mean. The default is that of a tool that has not said: anything."""

    kind: str = ""
    parameter: str = ""
    governed_by: str = ""
    """The capability whose path rules govern the tool. Of its own, those that deny or ask hold as well."""

    @classmethod
    def of(cls, declared: Tool[Any, Any] | ToolInfo) -> Subject:
        """What a tool declares."""
        if declared.name in CAPABILITIES:
            return cls("path", declared.rule_parameter)
        return cls(declared.rule_subject, declared.rule_parameter, BY_DECLARATION.get(declared.capability, ""))

    @property
    def is_namespaced(self) -> bool:
        """Whether a colon is part of a name, as in `plugin:name`, and never a parameter and its value."""
        return self.kind == "namespaced"

    @property
    def takes_paths(self) -> bool:
        """Whether path rules of the tool itself can allow."""
        return self.guards_paths and not self.governed_by

    @property
    def guards_paths(self) -> bool:
        """Whether path rules of the tool itself can deny and ask."""
        return self.kind in ("", "path")

    @property
    def takes_texts(self) -> bool:
        """Whether the text in the parentheses may be compared with a text of the input."""
        return self.kind not in ("host", "parameter") and not self.governed_by

    @property
    def takes_hosts(self) -> bool:
        """Whether `domain:example.com` means a host."""
        return self.kind not in ("command", "name", "namespaced")


ANYTHING = Subject()
OF_A_SERVER = Subject("parameter")
"""Tools of a server: the parentheses may contain only a parameter and its value."""
