"""The hooks: put each process into the sandbox, tidy up after it, and say what this machine can do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import anyio.to_thread

from pegboard import Context, ProcessSpec, ToolError, hookimpl
from pegboard_sandbox import bridge, bubblewrap, landlock
from pegboard_sandbox.excluded_commands import is_excluded
from pegboard_sandbox.layout import Layout, ProcessPaths, is_hidden, lay_out, require_inside
from pegboard_sandbox.ledger import ENDING, Ledger
from pegboard_sandbox.mechanism import REMEDY, choose
from pegboard_sandbox.policy import Policy, own_folders
from pegboard_sandbox.proxy import proxy_for
from pegboard_sandbox.roots import is_in, visible_folders, writable_roots

BRIDGE, SOCKET, LOCK = "/run/pegboard/bridge.py", "/run/pegboard/proxy", "/run/pegboard/lock"
LEDGERS: dict[str, Ledger] = {}


@hookimpl(priority=100)
def wrap_process(spec: ProcessSpec, ctx: Context) -> ProcessSpec | None:
    """Put a process into the sandbox. Comes late, so that what other hooks put around it is inside too."""
    policy = Policy.of(ctx.settings)
    if policy is not None and spec.confined:
        # It can write nothing, reach no host and read no more than the sandbox would show it.
        return replace(spec, env=policy.environment(spec.env))
    if policy is None or (spec.unsandboxed and policy.may_leave):
        return None
    starts = (ctx.settings.root, ctx.settings.cwd)
    if is_excluded(spec, policy, (*starts, str(ctx.cwd), *map(str, ctx.roots))):
        return None
    mechanism, problem = choose(policy, network=spec.network)
    if not mechanism:
        if policy.required:
            sentence = f"The sandbox is required, but {problem}. Nothing was started. {REMEDY}"
            raise ToolError(sentence, code="unsupported", remedy="")
        return replace(spec, env=policy.environment(spec.env))
    wanted = (*map(str, spec.writable), *policy.allow_write) if spec.writable else ()
    roots, cwd = writable_roots(wanted, starts), str(spec.cwd)
    place = ProcessPaths(
        cwd if cwd in roots else os.path.realpath(cwd),
        roots,
        own_folders(ctx.settings, os.environ),
        tuple(os.path.realpath(path) for path in spec.opens),
        visible_folders((*starts, str(ctx.cwd), *map(str, ctx.roots)), starts),
    )
    require_inside(place.cwd, cwd, (*starts, *map(str, spec.writable)))
    env = policy.environment(spec.env)
    if is_own_script(spec.env.get("BASH_ENV", ""), roots):
        env["BASH_ENV"] = spec.env["BASH_ENV"]
    wrap = _by_bubblewrap if mechanism == "bubblewrap" else _by_landlock
    try:
        return wrap(replace(spec, env=env), policy, place)
    except OSError as error:
        sentence = f"The sandbox cannot be set up: {error.strerror} ({error.filename}). Nothing was started."
        raise ToolError(sentence, code="unsupported") from error


@hookimpl
async def end_session() -> None:
    """Leave nothing behind."""
    await anyio.to_thread.run_sync(tidy_at_exit)


def is_own_script(path: str, roots: list[str]) -> bool:
    """Whether the script that a shell reads first is one that the tool added to its command."""
    return bool(path) and any(is_in(os.path.realpath(path), root) for root in roots)


def tidy() -> None:
    """Remove the stand-ins that no run relies on."""
    for ledger in list(LEDGERS.values()):
        if ledger.dirty:
            ledger.sweep()


def tidy_at_exit() -> None:
    """Remove the stand-ins, also those of a sandbox that needs a moment more to end."""
    deadline = time.monotonic() + ENDING
    while any(ledger.ending for ledger in LEDGERS.values()) and time.monotonic() < deadline:
        time.sleep(0.01)
    tidy()


class _Tidying:
    """Removes stand-ins in its own thread: shortly after a run, and periodically while others continue."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = False

    def soon(self, seconds: float = 1.0) -> None:
        with self._lock:
            if self._waiting:
                return
            self._waiting = True
        timer = threading.Timer(seconds, self._act)
        timer.daemon = True
        timer.start()

    def _act(self) -> None:
        with self._lock:
            self._waiting = False
        tidy()
        if any(ledger.dirty for ledger in LEDGERS.values()):
            self.soon(2.0)


_TIDYING = _Tidying()


def _by_bubblewrap(spec: ProcessSpec, policy: Policy, place: ProcessPaths) -> ProcessSpec:
    ledger = _ledger()
    # In one step, so that no other process removes a stand-in between the check and the note.
    with ledger.alone():
        layout = lay_out(place, policy)
        needed = layout.stand_ins
        note = ledger.begin(needed) if needed else ""
    try:
        argv = _arguments(spec, policy, place, layout, note)
    except BaseException:
        if note:
            _ended(ledger, note, None)
        raise
    env = {**spec.env, "TMPDIR": "/tmp"}  # noqa: S108 - the sandbox has a /tmp of its own
    on_end = partial(_ended, ledger, note, spec.on_end) if note else spec.on_end
    return replace(spec, argv=argv, env=env, on_end=on_end)


def _arguments(spec: ProcessSpec, policy: Policy, place: ProcessPaths, layout: Layout, note: str) -> tuple[str, ...]:
    mounts, lock, argv = layout.mounts, note, spec.argv
    if note and (is_hidden(note) or any(is_in(note, path) for path in policy.unreadable)):
        mounts[LOCK], lock = ("--ro-bind", note, LOCK), LOCK
    if spec.network and policy.network == "proxy":
        proxy = proxy_for(policy.domains, policy.denied_domains)
        mounts[BRIDGE] = ("--ro-bind", bridge.__file__, BRIDGE)
        mounts[SOCKET] = ("--ro-bind", proxy.path, SOCKET)
        argv = (os.path.realpath(sys.executable), "-I", "-S", BRIDGE, SOCKET, *argv)
    network, last = spec.network and policy.network == "on", layout.stand_ins.folders
    words = bubblewrap.command(str(bubblewrap.find()), mounts, place.cwd, network=network, last=last, lock=lock)
    return (*words, *argv)


def _ended(ledger: Ledger, note: str, further: Callable[[], None] | None) -> None:
    ledger.end(note)
    _TIDYING.soon()
    if further:
        further()


def _by_landlock(spec: ProcessSpec, policy: Policy, place: ProcessPaths) -> ProcessSpec:
    network = spec.network and policy.network == "on"
    words, temporary = landlock.command(place, policy, network=network)

    def end() -> None:
        landlock.remove(temporary)
        if spec.on_end:
            spec.on_end()

    return replace(spec, argv=(*words, *spec.argv), env={**spec.env, "TMPDIR": temporary}, on_end=end)


def _ledger() -> Ledger:
    """The ledger of this user; swept when it is first used, for what a crash has left."""
    key = f"{os.environ.get('XDG_STATE_HOME', '')}\0{os.environ.get('HOME', '')}"
    if key not in LEDGERS:
        ledger = Ledger.of(os.environ)
        ledger.sweep()
        LEDGERS[key] = ledger
        atexit.register(tidy_at_exit)
    return LEDGERS[key]
