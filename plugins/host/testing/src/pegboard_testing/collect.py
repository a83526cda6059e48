"""`pytest --pegboard-contract`: one test for each promise of each tool of a plugin."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pegboard import PluginError, Tool
from pegboard.hosting import PluginRecord, load_index, load_plugin, normalise
from pegboard_testing.case import ToolUnderTest
from pegboard_testing.contract import PROMISES, Broken, check


class PromiseItem(pytest.Item):
    """One promise of one tool."""

    subject: ToolUnderTest
    promise: str

    def runtest(self) -> None:
        """Check it."""
        broken = check(self.subject, self.promise)
        if broken:
            raise _PromiseError(broken)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A broken promise is a sentence; anything else is a bug of the kit and shown in full."""
        return str(excinfo.value) if isinstance(excinfo.value, _PromiseError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """How the item is called."""
        return self.config.rootpath, None, self.name


class _PromiseError(AssertionError):
    def __init__(self, broken: Broken) -> None:
        super().__init__(str(broken))
        self.broken = broken


def items(session: pytest.Session, wanted: str) -> list[pytest.Item]:
    """The items for every tool of a distribution; without a name, of the project that is being tested."""
    found: list[pytest.Item] = []
    for tool in tools_of(wanted or _project(session.config.rootpath)):
        examples = session.config.hook.pytest_pegboard_examples(tool=tool) or ()
        subject = ToolUnderTest(tool, examples, session.config.hook.pytest_pegboard_settings(tool=tool))
        for promise in PROMISES:
            item: PromiseItem = PromiseItem.from_parent(session, name=f"contract[{tool.name}-{promise}]")
            item.subject, item.promise = subject, promise
            found.append(item)
    return found


def tools_of(dist: str) -> Iterator[Tool[Any, Any]]:
    """The tools of an installed distribution."""
    mine = [plugin for plugin in _plugins() if normalise(plugin["dist"]) == normalise(dist)]
    if not mine:
        raise pytest.UsageError(f"{dist} is not installed or contains no plugin. Install it with pip install -e .")
    for plugin in mine:
        try:
            yield from load_plugin(plugin).tools
        except PluginError as error:
            raise pytest.UsageError(f"{plugin['id']} cannot be loaded: {error}") from None


@cache
def _plugins() -> list[PluginRecord]:
    return load_index(lambda plugin: False, {})["plugins"]


def _project(root: Path) -> str:
    try:
        name = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        reason = (
            f"{root} has no pyproject.toml with a project name. Name the distribution: "
            "--pegboard-contract=DISTRIBUTION."
        )
        raise pytest.UsageError(reason) from None
    return str(name)


def write_report(path: Path, broken: list[Broken]) -> None:
    """The broken promises as JSON, for `pegboard check`."""
    rows = [{"tool": one.tool, "promise": one.promise, "reason": one.reason} for one in broken]
    path.write_text(json.dumps(rows), "utf-8")


def broken_in(call: pytest.CallInfo[Any]) -> Broken | None:
    """What a finished item found."""
    value = call.excinfo.value if call.excinfo else None
    return value.broken if isinstance(value, _PromiseError) else None
