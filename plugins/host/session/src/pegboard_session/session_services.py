"""The services of a session: what may outlive a call, but not the session."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pegboard import Services
from pegboard_processes import Task
from pegboard_processes.background import LocalBackground
from pegboard_processes.service import LocalProcesses
from pegboard_session.announcements import SERVICE
from pegboard_session.completion import ProviderModel
from pegboard_session.history import Block

if TYPE_CHECKING:
    from pegboard_session.loop import Session

log = logging.getLogger("pegboard")


async def open_services(session: Session, exits: AsyncExitStack) -> Services:
    """The services of a session: those of its board, its own, and those that plugins provide for it."""
    services = session.ctx.services
    processes = services.processes
    if isinstance(processes, LocalProcesses) and not session.parent:
        # One per session: two sessions on one board begin and end independently.
        processes = await exits.enter_async_context(processes.apart(sweeps=True))
    background = services.background
    if background is None:

        def tell(task: Task) -> None:
            for listener in session.on_task_stopped:  # Asked now: plugins add listeners after the services are open.
                listener(task)

        def tell_end(task: Task) -> None:
            for listener in session.on_task_ended:
                listener(task)

        background = await exits.enter_async_context(LocalBackground(on_end=tell_end, on_stop=tell))
    model = services.model
    if model is None or isinstance(model, ProviderModel):  # A sub-agent's questions are on its own account.
        model = ProviderModel(session.provider, session.model, account=session.account)
    files = services.files if session.parent or services.files is None else services.files.fork(conversation=True)
    tools = session.tools.catalog(lambda name: getattr(session.desk.hooks, name, ()), lambda: session.profile)
    others = {**services.others, "conversation": session.conversation, "tools": tools, SERVICE: session.announcements}
    return replace(services, files=files, processes=processes, background=background, model=model, others=others)


async def start(session: Session) -> list[Block]:
    """Begin a session whose services are there: its system prompt, its line, and what hooks say before the prompt."""
    add_plugin_services(session)
    await session.system_prompt.open(session.restored.system)
    session.asking.report()
    where = {"cwd": str(session.ctx.cwd)}
    session.emit("session_started", id=session.id, model=session.model, **where)
    where["folder"] = session.board.settings.cwd
    session.write("session", id=session.id, model=session.model, **where, provider=session.provider.name)
    source = "resume" if session.messages else session.source
    path = session.transcript.path if session.transcript else None
    return await session.hooks.start(session.ctx, session.id, source, path)


def add_plugin_services(session: Session) -> None:
    """Collect the services of plugins. One that fails is logged, and the session continues without it."""
    offered: dict[str, object] = {}
    for hook in reversed(session.board.hooks.register_session_services):
        try:
            offered |= hook(session) or {}
        except Exception:
            log.exception("a register_session_services hook failed")
    if offered:
        services = session.ctx.services
        session.ctx = replace(session.ctx, services=replace(services, others={**services.others, **offered}))
