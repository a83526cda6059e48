"""`pegboard {{ cookiecutter.__word }}`: {{ cookiecutter.description[0]|lower }}{{ cookiecutter.description[1:] }}"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from pegboard import Board

EXAMPLES = """\
examples:
  pegboard {{ cookiecutter.__word }}
  pegboard {{ cookiecutter.__word }} --json
"""


def run(words: Sequence[str]) -> int:
    """The command: what stands after its name comes in, the exit code goes out."""
    parser = argparse.ArgumentParser(
        "pegboard {{ cookiecutter.__word }}",
        description="{{ cookiecutter.description }}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(words)
    names = [definition["name"] for definition in Board.load().definitions()]
    print(json.dumps(names) if given.json else "\n".join(names))
    return 0
