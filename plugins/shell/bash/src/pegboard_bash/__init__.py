"""The Bash tool, and what it knows of commands. Teach it programs of your own with `register_programs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Settings, hookimpl

if TYPE_CHECKING:
    from pegboard_bash.bash import Bash, BashInput, BashOutput
    from pegboard_bash.codes import register_exit_codes
    from pegboard_bash.examples import wrong_examples
    from pegboard_bash.programs import Program, register_programs
    from pegboard_bash.repository import git_environment
    from pegboard_bash.understanding import Understanding, understand

# Imports happen inside functions: listing tools must not load the parser and the table of programs.

__all__ = [
    "Bash",
    "BashInput",
    "BashOutput",
    "Program",
    "Understanding",
    "diagnose",
    "git_environment",
    "register_exit_codes",
    "register_programs",
    "register_tools",
    "understand",
    "wrong_examples",
]
WARM_UP = (
    *(
        "pegboard_bash.bash",
        "pegboard_bash.refusals",
        "pegboard_bash.typed_input",
        "pegboard_bash.understanding",
        "pegboard_bash.table",
        "pegboard_bash.confinement",
    ),
    *("pegboard_bash.bash_call", "pegboard_bash.render", "tree_sitter", "tree_sitter_bash"),
)
"""What the first call imports; a host may do it ahead, while it waits for the model."""
_HOMES = dict.fromkeys(("Bash", "BashInput", "BashOutput"), "bash") | {
    "Program": "programs",
    "Understanding": "understanding",
    "git_environment": "repository",
    "register_exit_codes": "codes",
    "register_programs": "programs",
    "understand": "understanding",
    "wrong_examples": "examples",
}


@hookimpl
def register_tools() -> list[Bash]:
    from pegboard_bash.bash import Bash

    return [Bash()]


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """Say what holds commands that run because they only read."""
    from pegboard_bash.confinement import diagnosis

    return diagnosis(settings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The knowledge of commands loads on use: listing tools imports this package and needs none of it.
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
