"""The ApplyPatch tool."""

from pegboard_patch.patch import ApplyPatch, ApplyPatchInput, register_models, register_tools
from pegboard_patch.patch_output import ApplyPatchOutput, PatchedFile

__all__ = ["ApplyPatch", "ApplyPatchInput", "ApplyPatchOutput", "PatchedFile", "register_models", "register_tools"]
