"""How the pages become a site: `tox -e docs`."""

from pygments.lexers.data import JsonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Pegboard"
author = "The Pegboard maintainers"
project_copyright = "2026, The Pegboard maintainers"
extensions = ["myst_parser"]
html_theme = "furo"
root_doc = "index"
exclude_patterns = ["generate.py"]
myst_heading_anchors = 3


def setup(app: Sphinx) -> None:
    """Blocks of lines that tests play: a script of a model, and what a program and Pegboard say to each other."""
    app.add_lexer("jsonl", JsonLexer)
    app.add_lexer("dialogue", TextLexer)
