"""What the loader refuses before it can do harm: members that cannot be listed, hooks that cannot be called."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pegboard import PluginError, hookimpl
from pegboard.plugins.discovery import api_fits
from pegboard.plugins.loader import check_hooks, check_tool, load_plugin, working_directory_off_the_path
from pegboard.plugins.scan import describe_tool

from .plugin_records import Plain


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"name": 3}, "name of Plain must be text, got 3."),
        ({"prompt": None}, "prompt of Plain must be text, got None."),
        ({"aliases": "Hi"}, "aliases of Plain must be a tuple of names, got 'Hi'."),
        ({"aliases": None}, "aliases of Plain must be a tuple of names, got None."),
        ({"requires_setting": True}, "requires_setting of Plain must be text, got True."),
        ({"requires_binaries": (b"rg",)}, "requires_binaries of Plain must be a tuple of names, got (b'rg',)."),
        ({"read_only": "yes"}, "read_only of Plain must be True or False, got 'yes'."),
        ({"max_result_chars": True}, "max_result_chars of Plain must be a whole number or None, got True."),
        ({"max_result_chars": 1.5}, "max_result_chars of Plain must be a whole number or None, got 1.5."),
    ],
)
def test_a_member_that_a_listing_cannot_show_is_refused(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(PluginError) as refused:
        check_tool(Plain(**members))

    assert (refused.value.kind, str(refused.value)) == ("bad-member", reason)


def test_a_member_that_raises_is_refused_with_its_traceback() -> None:
    class Moody(Plain):
        @property
        def search_hint(self) -> str:  # type: ignore[override]
            raise OSError("not today")

    with pytest.raises(PluginError, match="search_hint of Moody cannot be read: OSError: not today") as refused:
        check_tool(Moody())

    assert "not today" in refused.value.traceback


def test_subclasses_of_text_are_described_as_plain_text_that_the_index_can_keep() -> None:
    class Names(StrEnum):
        GREET = "Greet"

    made = describe_tool(Plain(Names.GREET, aliases=[Names.GREET], search_hint=Names.GREET))

    assert marshal.loads(marshal.dumps(made)) == made
    assert type(made["name"]) is str


def test_a_class_instead_of_a_tool_is_refused_with_what_to_write() -> None:
    with pytest.raises(PluginError, match=r"Plain is a class\. Return an instance: Plain\(\)\."):
        check_tool(Plain)


def test_a_hook_parameter_by_keyword_only_is_refused_because_it_would_never_arrive() -> None:
    @hookimpl
    def validate_input(*, tool: Any) -> None: ...

    with pytest.raises(PluginError, match="takes 'tool' by keyword only; hooks are called by position") as refused:
        check_hooks(SimpleNamespace(validate_input=validate_input))

    assert refused.value.kind == "hook-signature"


def test_a_hook_of_a_later_version_can_be_marked_optional() -> None:
    @hookimpl(optionalhook=True)
    def not_yet_invented() -> None: ...

    assert check_hooks(SimpleNamespace(not_yet_invented=not_yet_invented)) == []


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [("", True), ("1.0", True), ("1.99", False), ("2.0", False), ("0.9", False), ("1", False), (">=1.0", False)],
)
def test_the_api_fits_with_the_same_major_and_at_least_the_minor(wanted: str, fits: bool) -> None:
    assert api_fits(wanted) is fits


Install = Callable[[str], dict[str, Any]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a module on the path and describe it as discovery would."""

    def write(source: str) -> dict[str, Any]:
        name = f"acme_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        here = {"id": "acme:acme.x", "dist": "acme", "entry": "acme.x", "family": "acme", "value": name}
        return {**here, "root": str(tmp_path), "editable": "", "record": f"{name}.py,sha256=x,1\n", "scan": None}

    return write


@pytest.mark.parametrize("error", ["BaseException('odd')", "GeneratorExit('odd')"])
def test_whatever_an_import_raises_becomes_a_reason(install: Install, error: str) -> None:
    with pytest.raises(PluginError, match=r"cannot be imported: .*: odd") as refused:
        load_plugin(install(f"raise {error}"))

    assert refused.value.kind == "import-error"


def test_an_interrupt_during_an_import_is_not_a_plugins_fault(install: Install) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_plugin(install("raise KeyboardInterrupt"))


def test_a_file_that_only_ends_like_a_recorded_one_is_not_taken_for_it(install: Install) -> None:
    found = install("")
    found["record"] = f"other/{found['value']}.py,sha256=x,1\n"

    with pytest.raises(PluginError, match="which is not part of acme"):
        load_plugin(found)


def test_the_path_is_as_before_after_a_plugin_was_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.path)
    with working_directory_off_the_path():
        during = list(sys.path)

    assert str(tmp_path) not in during
    assert sys.path == before


def test_a_deleted_working_directory_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with working_directory_off_the_path():
            assert sys.path
    finally:
        os.chdir(tmp_path)
