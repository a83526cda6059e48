"""Refuse names that could not be installed, imported or called, before anything is written."""

import keyword
import re
import sys

KIND = "{{ cookiecutter.kind }}"
TOOL = "{{ cookiecutter.__tool }}"
MODULE = "{{ cookiecutter.__module }}"
FILE = "{{ cookiecutter.__file }}"
FAMILY = "{{ cookiecutter.family }}"
DISTRIBUTION = "{{ cookiecutter.distribution }}"
DESCRIPTION = """{{ cookiecutter.description|replace('"', "'")|replace('\\', '/') }}"""
GIVEN = """{{ cookiecutter.description|replace('\\', '\\\\')|replace('"', '\\"') }}"""

FAMILIES = {"policy": "policy", "provider": "providers"}
WITHOUT_TOOLS = ("policy", "providers", "support")


def problems():
    """What is wrong, a sentence each."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]{1,63}", TOOL):
        yield f"{TOOL!r} is no name for a {KIND}. Use words of letters and digits, such as Word Count."
    elif KIND == "tool" and TOOL in reserved():
        yield f"{TOOL} is the name of one of Pegboard's own tools. Choose another name."
    if not is_importable(FILE):
        yield f"{FILE!r} is not a valid module name. Choose another name for the {KIND}."
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", DISTRIBUTION):
        yield f"{DISTRIBUTION!r} is not a valid distribution name. Use letters, digits, - and ., such as acme-word-count."
    elif re.match(r"pegboard([._-]|$)", DISTRIBUTION.lower()):
        yield f"{DISTRIBUTION} looks like one of Pegboard's own. Start it with your own name, such as acme-word-count."
    elif not is_importable(MODULE) or MODULE in sys.stdlib_module_names:
        yield f"The distribution {DISTRIBUTION} would have the module {MODULE!r}, which cannot be imported."
    if KIND in FAMILIES and FAMILY != FAMILIES[KIND]:
        yield f"A {KIND} belongs to the family {FAMILIES[KIND]}, not to {FAMILY}. Leave out --family."
    elif KIND == "tool" and FAMILY in WITHOUT_TOOLS:
        yield f"The family {FAMILY} has no tools. Choose another, such as text."
    elif not re.fullmatch(r"[a-z][a-z0-9_-]*", FAMILY):
        yield f"{FAMILY!r} is not a valid family name. Use lower-case letters, digits, - and _, such as text."
    if len(DESCRIPTION) < 15 or DESCRIPTION != GIVEN or "\n" in DESCRIPTION:
        yield "The description is what the model reads. Write a whole sentence in one line, without quotes and backslashes."


def is_importable(name):
    """Whether a module may bear this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def reserved():
    """The names of Pegboard's own tools, where Pegboard is installed."""
    try:
        from pegboard.plugins.builtin import RESERVED
    except ImportError:
        return frozenset()
    return RESERVED


if found := list(problems()):
    sys.exit("\n".join(found))
