"""Commands and their output for a terminal, where rich is installed."""

from __future__ import annotations

SIGNS = {"\n": "⏎ ", "\t": "⇥ "}


def one_line(text: str) -> str:
    """A text in which no line break can begin what looks like a line of the host's."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else SIGNS.get(sign, "\ufffd") for sign in text)


def command(line: str, description: str) -> object | None:
    """A command as one would type it."""
    try:
        # Only a terminal needs rich, and not every host has it.
        from rich.console import Group
        from rich.syntax import Syntax
        from rich.text import Text
    except ImportError:
        return None
    typed = Syntax(f"$ {line}", "bash", background_color="default", word_wrap=True)
    return Group(Text(description, style="italic"), typed) if description else typed


def text(output: str) -> object | None:
    """The output as it is: nothing in it is markup."""
    try:
        from rich.text import Text  # Only a terminal needs it, and not every host has it.
    except ImportError:
        return None
    return Text(output)
