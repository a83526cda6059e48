"""The hooks: put each process into the sandbox, tidy up after it, and say what this machine can do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from dataclasses import replace

import anyio
import anyio.to_thread

from pegboard import Context, Event, ProcessSpec, ToolError, hookimpl
from pegboard.settings.layers import Settings
from pegboard_sandbox import bridge, bubblewrap, landlock
from pegboard_sandbox.layout import lay_out, writable_roots
from pegboard_sandbox.ledger import Ledger
from pegboard_sandbox.policy import Policy, own_folders
from pegboard_sandbox.proxy import proxy_for

BRIDGE, SOCKET = "/run/pegboard/bridge.py", "/run/pegboard/proxy"
REMEDY = "Install bubblewrap and allow user namespaces, or set sandbox.enabled to false."
LEDGERS: dict[str, Ledger] = {}


@hookimpl(priority=100)
def wrap_process(spec: ProcessSpec, ctx: Context) -> ProcessSpec | None:
    """Put a process into the sandbox. Comes late, so that what other hooks put around it is inside too."""
    policy = Policy.of(ctx.settings)
    if policy is None:
        return None
    mechanism, problem = _choose(policy, network=spec.network)
    if not mechanism:
        if policy.required:
            sentence = f"The sandbox is required, but {problem}. Nothing was started. {REMEDY}"
            raise ToolError(sentence, code="unsupported", remedy="")
        return replace(spec, env=policy.environment(spec.env))
    folders = policy.folders_to_write() if spec.writable else ()
    roots, own = writable_roots((*spec.writable, *folders)), own_folders(ctx.settings, os.environ)
    wrap = _by_bubblewrap if mechanism == "bubblewrap" else _by_landlock
    return wrap(spec, policy, roots, own)


@hookimpl
def observe(event: Event) -> None:
    """Have stand-ins removed soon after the call that needed them is over."""
    if event.kind == "call_finished" and any(ledger.dirty for ledger in LEDGERS.values()):
        _TIDYING.soon()


@hookimpl
async def end_session() -> None:
    """Leave nothing behind."""
    await anyio.to_thread.run_sync(tidy)


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """Say why the sandbox that the settings ask for cannot be had here."""
    policy = Policy.of(settings)
    if policy is None:
        return []
    mechanism, problem = _choose(policy, network=True)
    if mechanism == "landlock" and policy.mechanism == "auto":
        why = bubblewrap.trouble(bubblewrap.find())
        return [f"The sandbox uses Landlock, because {why}. It holds less: install bubblewrap for the whole."]
    return [] if mechanism else [f"The sandbox is switched on, but {problem}. {REMEDY}"]


def tidy() -> None:
    """Remove the stand-ins that no run relies on."""
    for ledger in list(LEDGERS.values()):
        if ledger.dirty:
            ledger.sweep()


class _Tidying:
    """Removes stand-ins in a thread of its own: a moment after a call, and from time to time while others run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = False

    def soon(self, seconds: float = 0.3) -> None:
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


def _choose(policy: Policy, *, network: bool) -> tuple[str, str]:
    """The mechanism to use; or none, and why."""
    problems = []
    if policy.mechanism != "landlock":
        problem = bubblewrap.trouble(bubblewrap.find())
        if not problem:
            return "bubblewrap", ""
        problems.append(problem)
    if policy.mechanism != "bubblewrap":
        problem = landlock.trouble(policy, network=network)
        if not problem:
            return "landlock", ""
        problems.append(problem)
    return "", " and ".join(problems)


def _by_bubblewrap(spec: ProcessSpec, policy: Policy, roots: list[str], own: tuple[str, ...]) -> ProcessSpec:
    env = policy.environment(spec.env) | {"TMPDIR": "/tmp"}  # noqa: S108 - the sandbox has a /tmp of its own
    cwd, argv = os.path.realpath(spec.cwd), spec.argv
    mounts, status = lay_out(roots, cwd, policy, own, _ledger())
    if spec.network and policy.network == "proxy":
        mounts[BRIDGE] = ("--ro-bind", bridge.__file__, BRIDGE)
        mounts[SOCKET] = ("--ro-bind", proxy_for(policy.domains).path, SOCKET)
        argv = (os.path.realpath(sys.executable), "-I", "-S", BRIDGE, SOCKET, *argv)
    network = spec.network and policy.network == "on"
    words = bubblewrap.command(str(bubblewrap.find()), mounts, cwd, network=network, status=status)
    return replace(spec, argv=(*words, *argv), env=env)


def _by_landlock(spec: ProcessSpec, policy: Policy, roots: list[str], own: tuple[str, ...]) -> ProcessSpec:
    network = spec.network and policy.network == "on"
    words, temporary = landlock.command(roots, policy, own, network=network)
    return replace(spec, argv=(*words, *spec.argv), env=policy.environment(spec.env) | {"TMPDIR": temporary})


def _ledger() -> Ledger:
    """The ledger of this user; swept when it is first used, for what a crash has left."""
    key = f"{os.environ.get('XDG_STATE_HOME', '')}\0{os.environ.get('HOME', '')}"
    if key not in LEDGERS:
        ledger = Ledger.of(os.environ)
        ledger.sweep()
        LEDGERS[key] = ledger
        atexit.register(tidy)
    return LEDGERS[key]
