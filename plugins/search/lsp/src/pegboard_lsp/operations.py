"""What the tool asks of a server: each operation, from a file and a position to the server's own answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pegboard import ToolError
from pegboard.wording import shown
from pegboard_lsp.addresses import lines_of, path_of, to_column, to_units, uri_of
from pegboard_lsp.live_server import RunningServer
from pegboard_lsp.problems import problems_of
from pegboard_lsp.symbols import all_symbols, in_text, is_quoted, last_part, matches, start_of

AT_A_POSITION = {
    "goToDefinition": ("textDocument/definition", "definitionProvider"),
    "findReferences": ("textDocument/references", "referencesProvider"),
    "hover": ("textDocument/hover", "hoverProvider"),
    "goToImplementation": ("textDocument/implementation", "implementationProvider"),
    "prepareCallHierarchy": ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    "incomingCalls": ("callHierarchy/incomingCalls", "callHierarchyProvider"),
    "outgoingCalls": ("callHierarchy/outgoingCalls", "callHierarchyProvider"),
}
"""The operations at a position, each with its method and the capability that it needs."""
CALLS = ("incomingCalls", "outgoingCalls")
SYMBOLS = ("textDocument/documentSymbol", "documentSymbolProvider")
SEARCH = ("workspace/symbol", "workspaceSymbolProvider")
YOUNG = 8.0
"""Seconds after its start in which an empty answer may mean that a server still loads."""
GLIMPSE = 0.3
"""Seconds that a new server has to say that it is loading."""
PAUSES = (0.2, 0.5, 1.0)
MOST_NAMED = 10
MOST_CALLS = 20
"""Functions of one name whose calls are looked up."""


@dataclass(frozen=True)
class Request:
    """One call of the tool, as the hub's loop sees it."""

    operation: str
    path: str = ""
    line: int | None = None
    character: int | None = None
    symbol: str = ""
    seconds: float = 30.0
    deadline: float = 0.0
    """Until when it waits for a server that loads."""
    may_show: Callable[[str], bool] | None = field(default=None, repr=False)
    """Which files rules let through; None where they withhold nothing."""

    @property
    def left(self) -> float:
        """How many seconds it still waits."""
        return self.deadline - time.monotonic()


@dataclass
class Answered:
    """What the server answered, and about what it was asked."""

    answer: Any = None
    path: str = ""
    line: int = 0
    column: int = 0
    is_loading: bool = False
    is_silent: bool = False
    is_withheld: bool = False
    """Whether rules withhold the file that the answer is about."""


async def perform(request: Request, running: RunningServer) -> Answered:
    """Ask the server; the caller turns the answer into items."""
    request = replace(request, deadline=time.monotonic() + request.seconds)
    await running.keep_in_step()
    if request.operation == "diagnostics":
        items, said = await problems_of(running, request.path, request.seconds)
        return Answered(items, request.path, is_silent=not said, is_loading=bool(running.progress))
    if request.path:
        async with running.in_step:
            await running.documents.bring(request.path)
    await _loaded(running, request.left)
    if request.operation == "workspaceSymbol":
        done = Answered(await _ask(running, SEARCH, {"query": request.symbol}, request))
    elif request.operation == "documentSymbol":
        done = Answered(await _ask(running, SYMBOLS, _document(request.path), request), request.path)
    else:
        done = await _at_position(request, running)
    done.is_loading = bool(running.progress)
    return done


async def _at_position(request: Request, running: RunningServer) -> Answered:
    path, line, column = await _position(request, running)
    method = AT_A_POSITION[request.operation]
    params = {**_document(path), "position": {"line": line, "character": column}}
    done = Answered(path=path, line=line, column=column)
    if request.operation in CALLS:
        prepared = await _ask(running, AT_A_POSITION["prepareCallHierarchy"], params, request)
        found = [one for one in prepared if isinstance(one, dict)] if isinstance(prepared, list) else []
        answers = [await running.ask(method[0], {"item": one}) for one in found[:MOST_CALLS]]
        done.answer = [one for answer in answers if isinstance(answer, list) for one in answer] if found else None
        return done
    if request.operation == "findReferences":
        params["context"] = {"includeDeclaration": True}
    if request.operation == "hover" and await _hides(request, running, params):
        done.is_withheld = True
        return done
    done.answer = await _ask(running, method, params, request)
    return done


async def _hides(request: Request, running: RunningServer, params: dict[str, Any]) -> bool:
    """Whether a symbol is defined in a file that is withheld: its text would be that file's."""
    method, capability = AT_A_POSITION["goToDefinition"]
    may_show = request.may_show
    if may_show is None or not running.offers(capability, method):
        return False
    answer = await running.ask(method, params)
    return any(path is None or not may_show(path) for path in map(_file_of, _each(answer)))


async def _ask(running: RunningServer, what: tuple[str, str], params: Any, request: Request) -> Any:
    """Ask, and again where the answer may only mean that the server was not ready."""
    method, capability = what
    if not running.offers(capability, method):
        name = running.chosen.config.name
        raise ToolError(f"The language server {name} does not support {request.operation}.", code="unsupported")
    answer = await running.ask(method, params)
    if running.progress and await running.settle(request.left):
        answer = await running.ask(method, params)  # It began to load meanwhile, and knows more now.
    for pause in PAUSES:
        if answer or running.progress or time.monotonic() - running.born > YOUNG:
            break
        await asyncio.sleep(pause)
        await running.settle(request.left)
        answer = await running.ask(method, params)
    return answer


async def _loaded(running: RunningServer, seconds: float) -> None:
    """Wait while the server loads the project. A new one has a moment to say that it does."""
    if not running.is_known:
        running.is_known = True
        deadline = time.monotonic() + GLIMPSE
        while not running.progress and await running.news(deadline - time.monotonic()):
            pass
    await running.settle(seconds)


async def _position(request: Request, running: RunningServer) -> tuple[str, int, int]:
    """The file and the position of the protocol that are meant."""
    if not request.path:
        return await _in_project(request, running)
    async with running.in_step:
        document = await running.documents.bring(request.path)
    lines = lines_of(document.text)
    if request.line is None:
        return request.path, *await _in_file(request, running, document.text)
    if request.line > len(lines):
        raise ToolError(f"line is {request.line}, and the file has {len(lines)} lines. Read the file to find it.")
    text = lines[request.line - 1]
    if request.symbol:
        column = in_text(request.symbol, text)
        if column is None:
            raise ToolError(f"{shown(request.symbol)} is not on line {request.line}: {shown(text.strip())}.")
    else:
        column = (request.character or 1) - 1
        if column > len(text):
            raise ToolError(f"character is {column + 1}, and line {request.line} has {len(text)} characters.")
    return request.path, request.line - 1, to_units(text, column)


async def _in_file(request: Request, running: RunningServer, text: str) -> tuple[int, int]:
    """Where a symbol is defined in a file; else where its name first occurs."""
    if running.offers(SYMBOLS[1], SYMBOLS[0]):
        answer = await _ask(running, SYMBOLS, _document(request.path), request)
        for symbol, names in all_symbols(answer):
            if matches(request.symbol, names):
                line, unit = start_of(symbol)
                return line, _of_the_name(request.symbol, lines_of(text), line, unit)
    found = [
        (line, column, words)
        for line, words in enumerate(lines_of(text))
        for column in [in_text(request.symbol, words)]
        if column is not None
    ]
    # A name in quotes, as in an include, is rarely the one that is meant.
    best = next((one for one in found if not is_quoted(one[2], one[1])), found[0] if found else None)
    if best is not None:
        return best[0], to_units(best[2], best[1])
    raise ToolError(f"{shown(request.symbol)} does not occur in {request.path}.", code="no_match")


async def _in_project(request: Request, running: RunningServer) -> tuple[str, int, int]:
    """Where a symbol of the project is defined."""
    answer = await _ask(running, SEARCH, {"query": last_part(request.symbol)}, request)
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    for one in _each(answer):
        path = _file_of(one.get("location"))
        is_shown = path and (request.may_show is None or request.may_show(path))
        if path and is_shown and matches(last_part(request.symbol), (str(one.get("name", "")),)):
            found[path, *start_of(one)] = one
    if "." in request.symbol or "::" in request.symbol:
        found = {place: one for place, one in found.items() if await _is_in(request, running, place[0], one)}
    if not found:
        what = f"The server knows no symbol {shown(request.symbol)}."
        raise ToolError(f"{what} Pass file_path, or use Grep.", code="no_match")
    if len(found) > 1:
        places = ", ".join(f"{path}:{line + 1}" for path, line, _ in [*found][:MOST_NAMED])
        raise ToolError(
            f"{len(found)} symbols are called {shown(request.symbol)}: {places}. Pass file_path.", code="ambiguous"
        )
    path, line, unit = next(iter(found))
    async with running.in_step:
        document = await running.documents.bring(path)
    return path, line, _of_the_name(request.symbol, lines_of(document.text), line, unit)


async def _is_in(request: Request, running: RunningServer, path: str, found: dict[str, Any]) -> bool:
    """Whether a symbol is in the one that the request names: not every server says so in a search."""
    if around := found.get("containerName"):
        return matches(request.symbol, (str(around), str(found.get("name", ""))))
    async with running.in_step:
        await running.documents.bring(path)
    answer = await running.ask(SYMBOLS[0], _document(path))
    line = start_of(found)[0]
    return any(start_of(one)[0] == line and matches(request.symbol, names) for one, names in all_symbols(answer))


def _of_the_name(symbol: str, lines: list[str], line: int, unit: int) -> int:
    """The column of the protocol of a name: some servers point at the whole definition."""
    text = lines[line] if line < len(lines) else ""
    column = in_text(symbol, text, to_column(text, unit))
    return unit if column is None else to_units(text, column)


def _document(path: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri_of(path)}}


def _each(answer: Any) -> Iterator[dict[str, Any]]:
    for one in answer if isinstance(answer, list) else [answer]:
        if isinstance(one, dict):
            yield one


def _file_of(location: Any) -> str | None:
    return path_of(location.get("uri") or location.get("targetUri")) if isinstance(location, dict) else None
