"""The guard before every route: the Host that was meant, an Origin that may, and a token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pegboard_mcp_server.options import is_loopback
from pegboard_mcp_server.server import CALLER
from pegboard_mcp_server.tokens import Tokens

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - to recognize them


@dataclass(frozen=True, slots=True)
class Names:
    """What this server is called in `Host`, and which web pages may call it. Nothing else is accepted, anywhere."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, hosts: list[str], origins: list[str]) -> Names:
        """The names of an address, and further ones that were allowed. A wildcard address is no name."""
        own = [] if host in WILDCARDS else [f"[{host}]" if ":" in host else host]
        if is_loopback(host) or host in WILDCARDS:
            own += LOOPBACK
        named = {f"{name}:{port}" for name in own}
        pages = {f"http://{name}" for name in named}
        for name in hosts:
            named |= {name.lower()} if ":" in name.rpartition("]")[2] else {name.lower(), f"{name.lower()}:{port}"}
        return cls(frozenset(named), frozenset(pages | {origin.rstrip("/").lower() for origin in origins}))


@dataclass
class Caller:
    """Whoever waits for the answer to a request."""

    _listeners: list[Callable[[], object]] = field(default_factory=list)
    _gone: bool = False

    def when_gone(self, act: Callable[[], object]) -> None:
        """Call this when the connection breaks."""
        if self._gone:
            act()
        self._listeners.append(act)

    def leave(self) -> None:
        """The connection is broken, or the answer complete: then nothing listens any more that matters."""
        self._gone = True
        for act in self._listeners:
            act()


class Guard:
    """An ASGI application around another one, which only sees requests that may come in."""

    def __init__(self, app: ASGIApp, names: Names, tokens: Tokens) -> None:
        self._app, self._names, self._tokens = app, names, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal, owner = self._judge(scope)
        if refusal:
            await refusal(scope, receive, send)
            return
        caller = Caller()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                caller.leave()
            return message

        user = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        await self._app({**scope, CALLER: caller, "user": user}, watched, send)

    def _judge(self, scope: Scope) -> tuple[Response | None, str]:
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._names.hosts:
            return _refuse(421, "This server does not have that name. To add a name, start it with --allow-host."), ""
        origins = [value.lower() for name, value in headers if name == b"origin"]
        if any(origin not in self._names.origins for origin in origins):
            return _refuse(403, "Web pages from this origin may not call this server. See --allow-origin."), ""
        sent = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        owner = self._tokens.owner(token.strip()) if scheme.lower() == "bearer" else None
        if owner is None:
            reason = "A token is needed: send the header Authorization: Bearer TOKEN."
            return _refuse(401, reason, {"WWW-Authenticate": "Bearer"}), ""
        return None, owner


def _refuse(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    more = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", **(headers or {})}
    return Response(f"{words}\n", status, more, media_type="text/plain")
