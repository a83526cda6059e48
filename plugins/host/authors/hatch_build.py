"""Put the tool template into the wheel, so that `pegboard new` needs no checkout and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TemplateHook(BuildHookInterface[Any]):
    """The template lies at the top of the repository; a source distribution carries a copy."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it, except to an editable install: that one uses the repository's own."""
        if version == "editable":
            return
        copy = Path(self.root, "template")
        source = copy if copy.is_dir() else Path(self.root).parents[2] / "tool-template"
        target = "template" if self.target_name == "sdist" else "pegboard_authors/template"
        build_data["force_include"][str(source)] = target
