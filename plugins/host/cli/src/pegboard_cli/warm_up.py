"""Import what the first call of each tool needs while the first answer is on its way.

Nothing but `sys.modules` changes: plugins are loaded, checked and bound when they are used, as ever. What cannot be
imported here fails there, and is reported.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard.hosting import Entry, PluginRecord

log = logging.getLogger("pegboard")

HEAD_START = 2.0
"""Seconds until it begins in any case. Earlier as soon as the program waits, which it does for the first answer: before
that, two threads that import would slow each other down."""
PAUSE, LONGER, BUSY = 0.01, 0.25, 0.2
"""How long to look whether the program waits, at first and after a call, which may wait for a process of its own; and
the share of that time from which on it does not wait."""
FIRST = ("shell", "files", "search")
"""The families of tools that a model as a rule calls first."""
PATIENCE = 0.05
"""Seconds to wait at the end for the import that is going on."""
MORE = "WARM_UP"
"""A plugin's module may name others under this attribute: those that the first call of its tools imports."""


@contextmanager
def warming_up(entries: Sequence[Entry], plugins: Sequence[PluginRecord]) -> Generator[None, None, None]:
    """While this is on, and the program waits, a thread imports the modules of these tools, one after the other."""
    stop = threading.Event()
    records = {(plugin["dist"], plugin["entry"]): plugin for plugin in plugins}
    ordered = sorted(entries, key=lambda entry: FIRST.index(entry.family) if entry.family in FIRST else len(FIRST))
    mine = list(dict.fromkeys((entry.dist, entry.entry) for entry in ordered if not entry.deferred))
    chosen = [records[key] for key in mine if key in records]
    thread = threading.Thread(target=_import_all, args=(chosen, stop), name="pegboard-warm-up", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)


def _import_all(plugins: Sequence[PluginRecord], stop: threading.Event) -> None:
    _await_idleness(stop, PAUSE, HEAD_START)
    for plugin in plugins:
        module_name = plugin["value"].partition(":")[0].strip()
        if not stop.is_set() and _is_as_described(module_name, plugin):
            module = _import_one(module_name, stop)
            for more in getattr(module, MORE, ()):
                if not stop.is_set():
                    _import_one(more, stop)


def _import_one(module_name: str, stop: threading.Event) -> Any:
    """Import a module; if the program has worked meanwhile, as it does for a call, wait until it is idle again."""
    began, used = time.monotonic(), time.process_time() - time.thread_time()
    module = _imported(module_name)
    if time.process_time() - time.thread_time() - used > BUSY * (time.monotonic() - began):
        _await_idleness(stop, LONGER)
    return module


def _await_idleness(stop: threading.Event, pause: float, longest: float = math.inf) -> None:
    """Return when the program computes little, as it does while an answer is on its way."""
    until = time.monotonic() + longest
    while not stop.is_set() and time.monotonic() < until:
        began, used = time.monotonic(), time.process_time()
        stop.wait(pause)
        took = time.monotonic() - began
        # On a machine with too much to do a program computes little too; then this thread is woken late.
        if took < 2 * pause and time.process_time() - used < BUSY * took:
            return


def _is_as_described(module_name: str, plugin: PluginRecord) -> bool:
    """Whether the module is the one that was checked for the index, and prints nothing when it is imported."""
    scanned = plugin.get("scan")
    if not scanned or scanned["state"] != "active" or scanned["printed"]:
        return False
    try:
        spec = find_spec(module_name.partition(".")[0])
    except (ImportError, ValueError):
        return False
    return bool(spec and spec.origin) and os.path.abspath(str(spec and spec.origin)) == scanned["origin"]


def _imported(module_name: str) -> Any:
    try:
        return import_module(module_name)
    except BaseException:  # Whatever it is, the first call will meet it again and report it.
        log.debug("%s could not be imported ahead of its first call", module_name, exc_info=True)
        return None
