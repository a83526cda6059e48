"""`pegboard new`: a package with a tool, a policy, a provider or a command, whose tests pass at once."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_authors.exit_codes import FOUND, OK, USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
examples:
  pegboard new                                       asks for everything
  pegboard new "Word Count" --author Acme            the finished tool from the tutorial
  pegboard new Stamp --author Acme --mutating --async --output-model --family notes
  pegboard new "Keep Changelog" --kind policy        decides which calls may run
  pegboard new "Our Model" --kind provider           asks a model
  pegboard new Report --kind command                 adds the command: pegboard report
"""

NEXT = """\
{folder} is ready. Next:
  cd {folder}
  pip install -e '.[test]'
  pytest
  pegboard check
Its {kind} is a working example; replace it with yours, and change the tests to match.
"""

EXAMPLE = "Word Count"
KINDS = ("tool", "policy", "provider", "command")
TOOLS_ONLY = {"mutating": "--mutating", "awaits": "--async", "output_model": "--output-model"}


def run(words: Sequence[str]) -> int:
    """The command."""
    given = _parser().parse_args(words)
    for key, option in TOOLS_ONLY.items():
        if given.kind != "tool" and getattr(given, key):
            sys.stderr.write(f"pegboard new: {option} is an option for tools, not for a {given.kind}. Leave it out.\n")
            return USAGE
    if given.name is None:
        if not sys.stdin.isatty():
            sys.stderr.write(f'pegboard new: give the {given.kind} a name, such as pegboard new "{EXAMPLE}".\n')
            return USAGE
        _ask(given)
    context = {
        "kind": given.kind,
        "name": in_words(given.name),
        "author": given.author or "Acme",
        "access": "mutating" if given.mutating else "read-only",
        "style": "async" if given.awaits else "sync",
        "output": "model" if given.output_model else "text",
    }
    for key in ("family", "description", "distribution"):
        if getattr(given, key):
            context[key] = getattr(given, key)
    return _bake(context, given.output)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "pegboard new",
        description="Create a package with a tool, a policy, a provider or a command.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help=f'its name, such as "{EXAMPLE}" or {EXAMPLE.replace(" ", "")}')
    parser.add_argument("--kind", choices=KINDS, default="tool", help="what the package contains (default: tool)")
    parser.add_argument("--author", help="who you are; the distribution's name starts with it (default: Acme)")
    parser.add_argument("--family", help="the family a tool belongs to (default: text)")
    parser.add_argument("--mutating", action="store_true", help="the tool changes something, so its calls ask first")
    parser.add_argument("--async", dest="awaits", action="store_true", help="write an async function")
    parser.add_argument("--output-model", action="store_true", help="return a pydantic model instead of text")
    parser.add_argument("--description", help="what it does; for a tool, the first sentence that the model reads")
    parser.add_argument("--distribution", help="the distribution's name (default: AUTHOR-NAME)")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where to create the folder (default: here)")
    return parser


def _ask(given: argparse.Namespace) -> None:
    """What was not said on the command line, on a terminal."""
    given.name = _question(f"The {given.kind}'s name, in words", EXAMPLE)
    given.author = given.author or _question("Who you are; the distribution's name starts with it", "Acme")
    if given.kind == "tool":
        given.family = given.family or _question("The family it belongs to", "text")
        given.mutating = given.mutating or _yes("Does a call change anything?")
        given.awaits = given.awaits or _yes("Does it await (network, other processes)?")
        given.output_model = given.output_model or _yes("Does it return data for programs besides text?")


def _question(text: str, default: str) -> str:
    return input(f"{text} [{default}]: ").strip() or default


def _yes(text: str) -> bool:
    return input(f"{text} [y/N]: ").strip().lower().startswith("y")


def in_words(name: str) -> str:
    """`WordCount` and `word-count` as `Word Count`: files and distributions are named by words."""
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)).strip()


def template() -> Path:
    """The template: inside the wheel, or at the top of the repository in an editable install."""
    packed = Path(__file__).with_name("template")
    return packed if packed.is_dir() else Path(__file__).parents[5] / "tool-template"


def _bake(context: dict[str, str], output: str) -> int:
    # Imported here because cookiecutter takes half a second, which --help should not.
    from cookiecutter.exceptions import CookiecutterException  # type: ignore[import-untyped]
    from cookiecutter.main import cookiecutter  # type: ignore[import-untyped]

    log = logging.getLogger("cookiecutter")  # It would log a refused name with a traceback.
    log.addHandler(logging.NullHandler())
    log.propagate = False
    try:
        made = cookiecutter(
            str(template()), no_input=True, extra_context=context, output_dir=output, default_config=True
        )
    except CookiecutterException as error:
        sys.stderr.write(f"pegboard new: nothing was created. {_reason(error)}\n")
        return FOUND
    sys.stdout.write(NEXT.format(folder=_shown(Path(made)), kind=context["kind"]))
    return OK


def _reason(error: Exception) -> str:
    """One sentence; a hook that refused a name has already said why on stderr."""
    text = str(error).strip()
    return "Choose other names." if "Hook script failed" in text else f"{text.rstrip('.')}."


def _shown(folder: Path) -> str:
    try:
        return str(folder.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(folder)
