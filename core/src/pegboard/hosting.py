"""For programs that build on a board: command lines, sessions, test kits, tools for authors.

What is installed and switched on, the pool with its reasons, what leads to a decision, and the parts that a session
puts together for its conversation. A plugin that only brings tools or hooks needs `pegboard` alone.
Names load on first use: whoever lists tools must not pay for what runs them.
"""

# Imports happen inside functions: a name is loaded when first used; importing the package loads nothing heavy.

TYPE_CHECKING = False

if TYPE_CHECKING:  # Packed: one name in each line is three pages.
    # fmt: off
    # isort: off
    from pegboard.plugins import index as _index
    from pegboard.calls import fingerprint as fingerprint
    from pegboard.errors import CODES as CODES, refuse_unknown as refuse_unknown
    from pegboard.content import text_size as text_size
    from pegboard.contract import TOOL_NAME as TOOL_NAME
    from pegboard.extensions import ResultsStore as ResultsStore
    from pegboard.execution.dispatch import (
        STOP as STOP, BoundTool as BoundTool, CallRun as CallRun, ToolHost as ToolHost, consider as consider,
    )
    from pegboard.execution.hooks import (
        BoundHooks as BoundHooks, Implementation as Implementation, fitting as fitting, maybe_await as maybe_await,
    )
    from pegboard.execution.limits import Limits as Limits, turn_options as turn_options
    from pegboard.execution.nested import dispatch_nested as dispatch_nested
    from pegboard.execution.threads import AbandonedThreads as AbandonedThreads, runner as runner
    from pegboard.execution.turn import run_calls as run_calls
    from pegboard.inputs import validate as validate
    from pegboard.plugins.builtin import (
        ALIASES as ALIASES, BY_FULL_NAME as BY_FULL_NAME, FAMILIES as FAMILIES, OWNERS as OWNERS, RESERVED as RESERVED,
        is_builtin as is_builtin, is_own as is_own, normalise as normalise, owner_of as owner_of,
    )
    from pegboard.plugins.discovery import discover as discover
    from pegboard.plugins.features import Features as Features
    from pegboard.plugins.guards import guard_problems as guard_problems
    from pegboard.plugins.index import is_here as is_here
    from pegboard.plugins.loader import Loaded as Loaded, load_plugin as load_plugin
    from pegboard.pool.assembly import assemble as assemble
    from pegboard.pool.entries import Absent as Absent, Entry as Entry, Pool as Pool, edited as edited
    from pegboard.records import (
        CommandRecord as CommandRecord, Discovery as Discovery, PluginRecord as PluginRecord, ScanRecord as ScanRecord,
        ToolRecord as ToolRecord,
    )
    from pegboard.reserved import GUARDS as GUARDS, HOOKS as HOOKS
    # isort: on
    # fmt: on

    index_file, load_index, plugin_roots = _index.file_for, _index.load, _index.roots

_NAMES = {
    "calls": "fingerprint",
    "errors": "CODES refuse_unknown",
    "content": "text_size",
    "contract": "TOOL_NAME",
    "execution.dispatch": "BoundTool CallRun STOP ToolHost consider",
    "extensions": "ResultsStore",
    "execution.hooks": "BoundHooks Implementation fitting maybe_await",
    "execution.limits": "Limits turn_options",
    "execution.nested": "dispatch_nested",
    "execution.threads": "AbandonedThreads runner",
    "execution.turn": "run_calls",
    "inputs": "validate",
    "plugins.builtin": "ALIASES BY_FULL_NAME FAMILIES OWNERS RESERVED is_builtin is_own normalise owner_of",
    "plugins.discovery": "discover",
    "plugins.features": "Features",
    "plugins.guards": "guard_problems",
    "plugins.index": "is_here file_for=index_file load=load_index roots=plugin_roots",
    "plugins.loader": "Loaded load_plugin",
    "pool.assembly": "assemble",
    "pool.entries": "Absent Entry Pool edited",
    "records": "CommandRecord Discovery PluginRecord ScanRecord ToolRecord",
    "reserved": "GUARDS HOOKS",
}
_HOME = {
    new or old: (f"pegboard.{module}", old)
    for module, names in _NAMES.items()
    for old, _, new in (name.partition("=") for name in names.split())
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard.hosting has no {name!r}")
    from importlib import import_module  # Needed once a name is: importing this module costs next to nothing.

    module, original = _HOME[name]
    globals()[name] = value = getattr(import_module(module), original)
    return value
