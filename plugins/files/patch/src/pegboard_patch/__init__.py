"""The ApplyPatch tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Settings, hookimpl

if TYPE_CHECKING:
    from pegboard_patch.patch import ApplyPatch, ApplyPatchInput
    from pegboard_patch.patch_output import ApplyPatchOutput, PatchedFile

# Imports happen inside functions: every session asks for the models, and few use the tool.

WARM_UP = ("pegboard_patch.patch",)
__all__ = ["ApplyPatch", "ApplyPatchInput", "ApplyPatchOutput", "PatchedFile", "register_models", "register_tools"]
_HOMES = {"ApplyPatch": "patch", "ApplyPatchInput": "patch"} | dict.fromkeys(
    ("ApplyPatchOutput", "PatchedFile"), "patch_output"
)


@hookimpl
def register_tools() -> list[ApplyPatch]:
    from pegboard_patch.patch import ApplyPatch

    return [ApplyPatch()]


@hookimpl
def register_models(settings: Settings) -> dict[str, dict[str, object]]:
    """Models that know this form of patch get it in place of Edit and Write."""
    swap = {"Edit": "ApplyPatch", "Write": "ApplyPatch"}
    return {name: {"tools": {"swap": swap}} for name in settings.get("patch.models")}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
