"""The ApplyPatch tool."""

from pegboard_patch.outputs import ApplyPatchOutput, PatchedFile
from pegboard_patch.patch import ApplyPatch, ApplyPatchInput, register_models, register_tools

__all__ = ["ApplyPatch", "ApplyPatchInput", "ApplyPatchOutput", "PatchedFile", "register_models", "register_tools"]
