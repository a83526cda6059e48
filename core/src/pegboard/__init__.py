"""Pegboard hosts the tools of LLM agents.

Write a tool::

    from pathlib import Path
    from pegboard import Context, Input, hookimpl, tool

    class WordCountInput(Input):
        file_path: Path
        "The text file to count."

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    def WordCount(args: WordCountInput, ctx: Context) -> str:
        "Count the words of a text file."
        return str(len(ctx.resolve(args.file_path).read_text().split()))

    @hookimpl
    def register_tools():
        return [WordCount]

Run one::

    from pegboard import Board, Call

    board = Board.load()
    result = await board.dispatch(Call("1", "WordCount", {"file_path": "README.md"}))

This is what plugins are written against. Four modules beside it are public too: `pegboard.settings`,
`pegboard.permission`, `pegboard.wording`, and `pegboard.hosting` for programs that build on a board.
Names load on first use, so that `import pegboard` costs next to nothing.
"""

# Imports happen inside functions: a name is loaded when first used; importing the package loads nothing heavy.

TYPE_CHECKING = False

if TYPE_CHECKING:  # Packed: one name in each line is three pages.
    # fmt: off
    # isort: off
    from pegboard.board import Board as Board, BoardOptions as BoardOptions
    from pegboard.calls import (
        JSON as JSON, Allow as Allow, Ask as Ask, Block as Block, Call as Call, Decision as Decision, Deny as Deny,
        Document as Document, Image as Image, Part as Part, Result as Result, Text as Text, canonical as canonical,
        strictest as strictest,
    )
    from pegboard.content import (
        content_block as content_block, jsonable as jsonable, tool_result as tool_result,
    )
    from pegboard.context import (
        Agent as Agent, Change as Change, Context as Context, Model as Model,
        Progress as Progress, Services as Services,
    )
    from pegboard.contract import API as API, Facts as Facts, Output as Output, Tool as Tool
    from pegboard.errors import (
        DefinitionError as DefinitionError, PegboardError as PegboardError, PluginError as PluginError,
        PolicyError as PolicyError, ProviderError as ProviderError, SettingsError as SettingsError,
        ToolError as ToolError,
    )
    from pegboard.execution.ask import put_question as put_question
    from pegboard.execution.limits import TurnOptions as TurnOptions
    from pegboard.execution.turn import Turn as Turn
    from pegboard.extensions import (
        After as After, Answer as Answer, Before as Before, Event as Event,
        Fine as Fine, Mode as Mode, Profile as Profile, Question as Question,
        ToolInfo as ToolInfo, ToolSource as ToolSource,
    )
    from pegboard.forms import Choice as Choice, FormField as FormField
    from pegboard.function_tool import tool as tool
    from pegboard.hookspecs import hookimpl as hookimpl
    from pegboard.inputs import Input as Input
    from pegboard.paths import ResolvedPath as ResolvedPath, resolve_path as resolve_path
    from pegboard.pool.catalog import ToolCatalog as ToolCatalog
    from pegboard.pool.entries import Entry as Entry, Pool as Pool
    from pegboard.settings import Notice as Notice, Settings as Settings
    from pegboard_external import ExternalTool as ExternalTool
    from pegboard_processes import ProcessSpec as ProcessSpec
    # isort: on
    # fmt: on

_NAMES = {
    "board": "Board BoardOptions",
    "calls": "Allow Ask Block Call Decision Deny Document Image JSON Part Result Text canonical strictest",
    "content": "content_block jsonable tool_result",
    "context": "Agent Change Context Model Progress Services",
    "contract": "API Facts Output Tool",
    "errors": "DefinitionError PegboardError PluginError PolicyError ProviderError SettingsError ToolError",
    "execution.ask": "put_question",
    "execution.limits": "TurnOptions",
    "execution.turn": "Turn",
    "extensions": "After Answer Before Event Fine Mode Profile Question ToolInfo ToolSource",
    "forms": "Choice FormField",
    "function_tool": "tool",
    "hookspecs": "hookimpl",
    "inputs": "Input",
    "paths": "ResolvedPath resolve_path",
    "pool.catalog": "ToolCatalog",
    "pool.entries": "Entry Pool",
    "settings": "Notice Settings",
}
_HOME = {name: f"pegboard.{module}" for module, names in _NAMES.items() for name in names.split()} | {
    "ExternalTool": "pegboard_external",  # Of libraries, where these are installed.
    "ProcessSpec": "pegboard_processes",
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard has no {name!r}")
    from importlib import import_module  # Needed once a name is: importing this module costs next to nothing.

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
