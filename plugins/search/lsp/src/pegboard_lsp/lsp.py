"""Ask a language server about code."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from pegboard import Context, Facts, Input, Tool, ToolError
from pegboard_lsp.choice import Chosen, absolute, choose, choose_for_project
from pegboard_lsp.lsp_output import LspItem, LspOutput, text_of

if TYPE_CHECKING:
    from pegboard_lsp.hub import Hub

# Imports happen inside functions: listing tools must not pay for what only a call needs.

LIMIT = 100
MOST = 1_000
OF_A_FILE = ("documentSymbol", "diagnostics")
Count = Annotated[int, Field(ge=1)]


class LspInput(Input):
    operation: Literal[
        "goToDefinition",
        "findReferences",
        "hover",
        "documentSymbol",
        "workspaceSymbol",
        "goToImplementation",
        "prepareCallHierarchy",
        "incomingCalls",
        "outgoingCalls",
        "diagnostics",
    ]
    """What to ask."""
    file_path: Path | None = None
    """The file. Not needed where symbol has one definition in the project."""
    line: Count | None = None
    """The line, from 1."""
    character: Count | None = None
    """The character in the line, from 1; default: the first of symbol."""
    symbol: str | None = None
    """A name such as greet or Greeter.greet, in place of line and character. For workspaceSymbol: what to look for."""
    limit: Annotated[int, Field(ge=1, le=MOST)] = LIMIT
    """How many results to show."""


class Lsp(Tool[LspInput, LspOutput]):
    """Ask a language server about code: more exact than a text search for what a name means and where it is used.

    Operations: goToDefinition, findReferences, hover (type and documentation), goToImplementation, documentSymbol
    (outline of a file), workspaceSymbol, prepareCallHierarchy, incomingCalls (callers), outgoingCalls, diagnostics
    (errors and warnings of a file). Name the symbol, or give file_path with line and character. The first call for a
    language starts its server and takes longer.
    """

    name = "LSP"
    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "language server definition references symbols types diagnostics errors callers code intelligence"
    rule_subject = "path"
    rule_parameter = "file_path"

    def validate_input(self, args: LspInput, /) -> str | None:
        if args.symbol is not None and not args.symbol.strip():
            return "symbol is empty."
        if args.operation == "workspaceSymbol":
            return None if args.symbol else "workspaceSymbol needs symbol: the name to look for."
        if args.operation in OF_A_FILE:
            return None if args.file_path is not None else f"{args.operation} needs file_path."
        if args.symbol is None and (args.file_path is None or args.line is None or args.character is None):
            return f"{args.operation} needs symbol, or file_path with line and character."
        if args.file_path is None and args.line is not None:
            return "line needs file_path."
        if args.line is None and args.character is not None:
            return "character needs line."
        return None

    def facts(self, args: LspInput, ctx: Context, /) -> Facts:
        """Reading, and for some servers the start of a program that a person has not vouched for."""
        reads = (ctx.resolve(args.file_path) if args.file_path is not None else ctx.cwd,)
        chosen = self._chosen(args, ctx)
        if chosen is None or not chosen.asks or _hub(ctx).is_running(chosen):
            return Facts(read_only=True, concurrency_safe=True, open_world=False, reads=reads)
        return Facts(concurrency_safe=True, open_world=True, reads=reads, reason=chosen.asks)

    def describe(self, args: LspInput, /) -> str:
        where = str(args.file_path) if args.file_path is not None else "the project"
        if args.line is not None:
            where += f":{args.line}" + (f":{args.character}" if args.character is not None else "")
        return f"LSP {args.operation} {args.symbol + ' in ' if args.symbol else ''}{where}"

    def preview(self, args: LspInput, ctx: Context, /) -> str | None:
        chosen = self._chosen(args, ctx)
        if chosen is None or not chosen.asks or _hub(ctx).is_running(chosen):
            return None
        return f"Start {' '.join(chosen.argv)}\nin {chosen.root}"

    async def call(self, args: LspInput, ctx: Context, /) -> LspOutput:
        from anyio import to_thread

        from pegboard_lsp.items import Items, hover_text
        from pegboard_lsp.operations import Request, perform

        path = _file(args, ctx)
        chosen = await to_thread.run_sync(self._choose, args, ctx)
        shown = ctx.path_filter(self, path or os.fspath(ctx.cwd))
        may_show = shown or _everything
        request = Request(
            args.operation,
            path,
            line=args.line,
            character=args.character,
            symbol=args.symbol or "",
            seconds=ctx.settings.get("lsp.requestTimeout"),
            may_show=may_show,
        )
        if not _hub(ctx).is_running(chosen):
            ctx.report(f"Starting {chosen.config.name}")
        done = await _hub(ctx).ask(chosen, ctx, lambda running: perform(request, running))
        items = Items(ctx, may_show)
        value = LspOutput(operation=args.operation, server=chosen.config.name, withheld=shown is not None)
        value.is_loading, value.is_silent = done.is_loading, done.is_silent
        value.subject = _subject(args, path, items)
        if args.operation == "hover":
            value.hover = hover_text(done.answer)
            return value
        found: list[LspItem] = await to_thread.run_sync(items.of, args.operation, done)
        value.items, value.total = found[: args.limit], len(found)
        if args.operation == "diagnostics" and not done.is_silent:
            from pegboard_lsp.after_edit import remember

            remember(_hub(ctx), path, found)
        return value

    def content(self, value: LspOutput, /) -> str:
        return text_of(value)

    def render_result(self, value: LspOutput, /) -> object | None:
        from rich.text import Text  # Only a terminal needs it.

        return Text(text_of(value))

    def _chosen(self, args: LspInput, ctx: Context) -> Chosen | None:
        try:
            return self._choose(args, ctx)
        except ToolError:
            return None  # The call itself says what is missing.

    def _choose(self, args: LspInput, ctx: Context) -> Chosen:
        found = _hub(ctx).found
        if args.file_path is None:
            return choose_for_project(found, ctx)
        path = absolute(args.file_path, ctx)
        return choose(found, path, ctx, diagnostics=args.operation == "diagnostics")


def _file(args: LspInput, ctx: Context) -> str:
    """The absolute path of the file; empty where none is named."""
    if args.file_path is None:
        return ""
    path = absolute(args.file_path, ctx)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"There is no file {path}. Use Glob to find it.", code="not_found") from None
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}.", code="permission_denied") from None
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path} is not a file. Pass the path of a source file.", code="unsupported")
    return path


def _subject(args: LspInput, path: str, items: object) -> str:
    from pegboard_lsp.items import Items

    where = items.shown(path) if isinstance(items, Items) and path else ""
    if args.symbol:
        return args.symbol
    return f"{where}:{args.line}:{args.character}" if args.line is not None else where


def _everything(path: str) -> bool:
    return True


def _hub(ctx: Context) -> Hub:
    from pegboard_lsp.hub import hub_of

    return hub_of(ctx.settings)
