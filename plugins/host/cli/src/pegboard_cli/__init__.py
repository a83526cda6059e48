"""The command line of Pegboard: one file per command, each imported only when it is used.

What a package that shows conversations in another way builds on: `View`, and how a question is put in words.
"""

# Imports happen inside functions: every command imports this package, and few need these names.

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pegboard_cli.ask_user import SAFETY as ONLY_A_PERSON
    from pegboard_cli.form_text import form_lines as form_lines
    from pegboard_cli.form_text import value_of as typed_value
    from pegboard_cli.main import INTERRUPTED as INTERRUPTED
    from pegboard_cli.question_text import lines_of as question_lines
    from pegboard_cli.question_text import revealed as revealed
    from pegboard_cli.remedies import without_remedy as without_remedy
    from pegboard_cli.views import View as View

_HOME = {
    "INTERRUPTED": ("main", "INTERRUPTED"),
    "ONLY_A_PERSON": ("ask_user", "SAFETY"),
    "View": ("views", "View"),
    "form_lines": ("form_text", "form_lines"),
    "question_lines": ("question_text", "lines_of"),
    "revealed": ("question_text", "revealed"),
    "typed_value": ("form_text", "value_of"),
    "without_remedy": ("remedies", "without_remedy"),
}

__all__ = ["INTERRUPTED", "ONLY_A_PERSON", "View", "form_lines", "question_lines", "revealed", "typed_value"]
__all__ += ["without_remedy"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard_cli has no {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(f"pegboard_cli.{module}"), attribute)
