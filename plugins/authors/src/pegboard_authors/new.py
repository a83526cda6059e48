"""`pegboard new`: a package with one tool, whose tests pass at once."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_authors.ending import FOUND, OK, USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
examples:
  pegboard new                                       asks for everything
  pegboard new "Word Count" --author Acme            asks for nothing else
  pegboard new Stamp --author Acme --mutating --async --output-model --family notes
"""

NEXT = """\
{folder} is ready. Go on with:
  cd {folder}
  pip install -e '.[test]'
  pytest
  pegboard check
Its tool is a working example; put yours in its place, and change the tests with it.
"""


def run(words: Sequence[str]) -> int:
    """The command."""
    given = _parser().parse_args(words)
    name = given.name
    if name is None:
        if not sys.stdin.isatty():
            sys.stderr.write('pegboard new: give the tool a name, such as pegboard new "Word Count" --author Acme.\n')
            return USAGE
        _ask(given)
    context = {
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
        description="Make a package with one tool.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help='the tool\'s name, as "Word Count" or WordCount')
    parser.add_argument("--author", help="who you are; the distribution's name starts with it (default: Acme)")
    parser.add_argument("--family", help="the family the tool belongs to (default: text)")
    parser.add_argument("--mutating", action="store_true", help="the tool changes something, so it asks")
    parser.add_argument("--async", dest="awaits", action="store_true", help="an async def instead of a def")
    parser.add_argument("--output-model", action="store_true", help="return a pydantic model instead of text")
    parser.add_argument("--description", help="the first sentence the model reads")
    parser.add_argument("--distribution", help="the distribution's name (default: AUTHOR-NAME)")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where to make the folder (default: here)")
    return parser


def _ask(given: argparse.Namespace) -> None:
    """What was not said on the command line, on a terminal."""
    given.name = _question("The tool's name, in words", "Word Count")
    given.author = given.author or _question("Who you are; the distribution's name starts with it", "Acme")
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
    return packed if packed.is_dir() else Path(__file__).parents[4] / "tool-template"


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
        sys.stderr.write(f"pegboard new: nothing was made. {_reason(error)}\n")
        return FOUND
    sys.stdout.write(NEXT.format(folder=_shown(Path(made))))
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
