"""What a call of LSP returns, and what the model reads of it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pegboard.wording import counted, on_one_line

NOUNS = {
    "goToDefinition": ("definition", "definitions"),
    "findReferences": ("reference", "references"),
    "goToImplementation": ("implementation", "implementations"),
    "documentSymbol": ("symbol", "symbols"),
    "workspaceSymbol": ("symbol", "symbols"),
    "prepareCallHierarchy": ("function", "functions"),
    "incomingCalls": ("caller", "callers"),
    "outgoingCalls": ("called function", "called functions"),
    "diagnostics": ("problem", "problems"),
}

BETWEEN = {
    **dict.fromkeys(("documentSymbol", "diagnostics"), "in"),
    **dict.fromkeys(("workspaceSymbol", "prepareCallHierarchy"), "for"),
    "findReferences": "to",
}


class LspItem(BaseModel):
    """One place: a location, a symbol, a call or a problem. Lines and characters count from 1."""

    path: str
    line: int
    character: int = 1
    text: str = ""
    """The line of the file, without the space around it."""
    name: str = ""
    kind: str = ""
    depth: int = 0
    """How many symbols of the same list this one is in."""
    lines: list[int] = Field(default_factory=list)
    """For a call hierarchy: the lines of the calls."""
    severity: str = ""
    message: str = ""
    source: str = ""
    """For a problem: the program and the rule that report it."""


class LspOutput(BaseModel):
    """The answer of a language server."""

    operation: str
    server: str
    subject: str = ""
    """The symbol, file or name that was asked about."""
    items: list[LspItem] = Field(default_factory=list)
    total: int = 0
    hover: str = ""
    withheld: bool = False
    """Whether permission rules withhold anything in this project; not how much."""
    is_loading: bool = False
    is_silent: bool = False


def text_of(value: LspOutput) -> str:
    """What the model reads."""
    if value.operation == "hover":
        body = [value.hover or f"{value.server} has nothing to say about {value.subject}."]
    else:
        body = [_heading(value), *(_line(item, value.operation) for item in value.items)]
    return "\n".join([*body, *_remarks(value)])


def _heading(value: LspOutput) -> str:
    one, many = NOUNS[value.operation]
    of = f" {BETWEEN.get(value.operation, 'of')} {value.subject}"
    if value.is_silent:
        return f"{value.server} reported nothing about {value.subject} in time: it may have problems or none."
    if not value.items:
        return f"{value.server} found no {many}{of}."
    return f"{counted(value.total, one, many)}{of} ({value.server}):"


def _line(item: LspItem, operation: str) -> str:
    place = f"{on_one_line(item.path)}:{item.line}:{item.character}"
    if operation == "diagnostics":
        source = f" [{item.source}]" if item.source else ""
        return f"{place}: {item.severity}: {item.message}{source}"
    label = " ".join(filter(None, (item.kind, item.name)))
    if operation == "documentSymbol":
        return f"{'  ' * item.depth}{item.line}:{item.character} {label}"
    if operation == "incomingCalls":
        label += f" calls it on {_numbered(item.lines)}"
    elif operation == "outgoingCalls":
        label += f", called on {_numbered(item.lines)}"
    rest = " — ".join(filter(None, (label, item.text)))
    return f"{place}: {rest}" if rest else place


def _numbered(lines: list[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _remarks(value: LspOutput) -> list[str]:
    said = []
    if len(value.items) < value.total:
        said.append(f"(Showing {len(value.items)} of {value.total}; pass a larger limit for more.)")
    if value.withheld:
        said.append("(Places in files withheld by permission rules are not shown.)")
    if value.is_loading:
        said.append(f"({value.server} is still loading the project, so the answer may be incomplete.)")
    return said
